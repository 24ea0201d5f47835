"""Functions, methods and modules that python_functions.stp tells apart."""

import json.decoder


def inner(count):
    return sum(range(count))


class Shop:
    many = 3

    def sell(self, count):
        return inner(count)


def sell_nothing():
    return None


def outer(shop):
    return shop.sell(2) + inner(300)


shop = Shop()
for _ in range(Shop.many):
    outer(shop)
sell_nothing()
json.decoder.JSONDecoder(strict=True)
