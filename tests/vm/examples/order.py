"""Two mutexes of the C library, which one thread takes in this order and the next in the other."""

import _ctypes  # the module around it takes the emulator seconds
import _thread
import array

library = _ctypes.dlopen("libc.so.6", 2)
lock = _ctypes.dlsym(library, "pthread_mutex_lock")
unlock = _ctypes.dlsym(library, "pthread_mutex_unlock")
room = array.array("Q", [0] * 16)  # two mutexes that nobody holds
first, _ = room.buffer_info()
second = first + 64


class Pointer(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """An address as an argument; whole numbers would be cut to 32 bits."""

    _type_ = "P"


def both(one: int, other: int) -> None:
    """Take both mutexes, and give them back."""
    for function, mutex in (lock, one), (lock, other), (unlock, other), (unlock, one):
        _ctypes.call_function(function, (Pointer(mutex),))


def again() -> None:
    """Take them in the other order, then let the first thread go on."""
    both(second, first)
    done.release()


done = _thread.allocate_lock()
done.acquire()
both(first, second)
_thread.start_new_thread(again, ())
done.acquire()
