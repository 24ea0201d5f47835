<?php
class Shop {
	static function open($n) { return $n + 1; }
	function sell($n) { if ($n > 1) throw new RangeException("sold out"); return $n; }
}
function total($n) { return Shop::open($n); }
$shop = new Shop;
for ($i = 0; $i < 3; $i++) total($i);
try { $shop->sell(1); $shop->sell(2); } catch (RangeException $e) { echo "caught\n"; }
echo $missing;
