"""Calls that Python makes itself, which python_times.stp sees while lines are told."""


def inner(count):
    total = 0
    for step in range(count):
        total += step
    return total


def outer():
    return inner(10) + inner(200)


outer()
