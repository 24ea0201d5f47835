class Shop
  def sell(count)
    raise ArgumentError, "sold out" if count > 1
    [count, count].sum
  end
end
load File.join(__dir__, "told_more.rb")
shop = Shop.new
TracePoint.new(:call, :return) {}.enable # without one, Ruby is silent about its own methods
shop.sell(1)
begin
  shop.sell(2)
rescue ArgumentError
end
GC.start
