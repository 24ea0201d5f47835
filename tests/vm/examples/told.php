<?php
class Shop {
	static function sell($n) { if ($n > 3) throw new RangeException("sold out"); usleep(100000); }
}
function total() { for ($i = 1; $i < 4; $i++) Shop::sell($i); }
total();
try { new Shop; Shop::sell(4); } catch (RangeException $e) { }
