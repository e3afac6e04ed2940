# SPDX-License-Identifier: Apache-2.0
"""Maps as Python mappings.

A GPU map exists once for each CUDA context that runs its programs: its
instances.  MapView is one of them, or the initial values that later ones begin
with; Map is the whole, and a mapping itself for the usual case of one context.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass
from errno import ENOENT
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, MutableMapping, Optional, Tuple, Union
from uuid import UUID

from ._cffi import ffi, lib
from ._library import guard, own, sure_text
from .error import check

if TYPE_CHECKING:
    from .object import Object

INITIAL: int = lib.GPUTRACE_INSTANCE_INITIAL  #: in place of an instance's number: the initial values
ALL: int = lib.GPUTRACE_INSTANCE_ALL  #: for Map.sum(): every instance

MAP_HOST: int = lib.GPUTRACE_MAP_HOST  #: map flag: keep it in host memory, to be read while the GPU runs
MMAPABLE: int = lib.BPF_F_MMAPABLE  #: map flag of the operating system's kernel



Key = Union[int, bytes]
#: One integer or tuple as struct unpacks it, or bytes; a list of them if the map keeps several for a key.
Value = Any


class MapType(IntEnum):
    """Kinds of maps: those of the operating system's kernel, and those that only GPU programs have."""

    HASH = lib.BPF_MAP_TYPE_HASH
    ARRAY = lib.BPF_MAP_TYPE_ARRAY
    PROG_ARRAY = lib.BPF_MAP_TYPE_PROG_ARRAY
    PERF_EVENT_ARRAY = lib.BPF_MAP_TYPE_PERF_EVENT_ARRAY
    PERCPU_HASH = lib.BPF_MAP_TYPE_PERCPU_HASH
    PERCPU_ARRAY = lib.BPF_MAP_TYPE_PERCPU_ARRAY
    STACK_TRACE = lib.BPF_MAP_TYPE_STACK_TRACE
    LRU_HASH = lib.BPF_MAP_TYPE_LRU_HASH
    LRU_PERCPU_HASH = lib.BPF_MAP_TYPE_LRU_PERCPU_HASH
    LPM_TRIE = lib.BPF_MAP_TYPE_LPM_TRIE
    QUEUE = lib.BPF_MAP_TYPE_QUEUE
    STACK = lib.BPF_MAP_TYPE_STACK
    RINGBUF = lib.BPF_MAP_TYPE_RINGBUF
    THREAD_ARRAY = lib.GPUTRACE_MAP_TYPE_THREAD_ARRAY
    WARP_ARRAY = lib.GPUTRACE_MAP_TYPE_WARP_ARRAY
    BLOCK_ARRAY = lib.GPUTRACE_MAP_TYPE_BLOCK_ARRAY
    SM_ARRAY = lib.GPUTRACE_MAP_TYPE_SM_ARRAY


@dataclass(frozen=True)
class InstanceInfo:
    """Whose an instance of a map is."""

    pid: int  #: 0: all processes', a shared map
    context: int  #: as Event.context
    gpu: Optional[int]  #: Gpu.index; None: no GPU's, a shared map
    uuid: UUID  #: of the GPU


class Layout:
    """How keys or values of one size lie in memory, and what they are in Python."""

    INTEGERS = {1: "B", 2: "H", 4: "I", 8: "Q"}

    def __init__(self, size: int, form: Optional[str] = None) -> None:
        if form is None:
            form = self.INTEGERS.get(size)
        self.size = size
        self.form = form
        self._struct = None
        if form is not None:
            # Without padding and in the machine's order unless the form says otherwise.
            self._struct = struct.Struct(form if form[:1] in tuple("@=<>!") else "=" + form)
            if self._struct.size != size:
                raise ValueError(f"{form!r} has {self._struct.size} bytes, the map has {size}")

    def pack(self, value: Any) -> bytes:
        if isinstance(value, (bytes, bytearray, memoryview)):
            packed = bytes(value)
        elif self._struct:
            packed = self._struct.pack(*value) if isinstance(value, (tuple, list)) else self._struct.pack(value)
        else:
            raise TypeError(f"bytes are needed, {self.size} of them; or set a struct format")
        if len(packed) != self.size:
            raise ValueError(f"{len(packed)} bytes, where the map has {self.size}")
        return packed

    def unpack(self, data: bytes) -> Any:
        if not self._struct:
            return data
        values = self._struct.unpack(data)
        return values[0] if len(values) == 1 else values


class MapView(MutableMapping[Key, Value]):
    """One instance of a map, as of the last Object.refresh(); shared maps are read and written directly.

    Keys and values of 1, 2, 4 or 8 bytes are unsigned integers, others bytes;
    Map.with_format() gives them other forms, and bytes are always accepted.
    Where a map keeps a value per thread, warp, block or SM, a value is the list
    of them.
    """

    def __init__(self, map: "Map", instance: int) -> None:
        self._map = map
        self._instance = instance

    def __repr__(self) -> str:
        which = "initial values" if self._instance == INITIAL else f"instance {self._instance}"
        return f"<gputrace.MapView {self._map.name!r}, {which}>"

    def __getitem__(self, key: Key) -> Value:
        m = self._map
        packed = m._keys.pack(key)
        size = m.value_size * m.slots
        value = ffi.new("char[]", max(size, 1))
        with guard:
            result = lib.gputrace_map_lookup(m._pointer, self._instance, packed, len(packed), value, size)
            if result == -ENOENT:
                raise KeyError(key)
            check(result)
        return m._unpack_slots(bytes(ffi.buffer(value, size)))

    def __setitem__(self, key: Key, value: Value) -> None:
        self.update_element(key, value)

    def update_element(self, key: Key, value: Value, flags: int = 0) -> None:
        """Set an initial value, or an element of a shared map; flags as in bpf_map_update_elem.

        Error with errno EOPNOTSUPP: instances of other maps belong to their GPU.
        """
        m = self._map
        packed, bytes_ = m._keys.pack(key), m._pack_slots(value)
        with guard:
            check(lib.gputrace_map_update(m._pointer, self._instance, packed, len(packed), bytes_,
                                          len(bytes_), flags))

    def __delitem__(self, key: Key) -> None:
        m = self._map
        packed = m._keys.pack(key)
        with guard:
            result = lib.gputrace_map_delete(m._pointer, self._instance, packed, len(packed))
            if result == -ENOENT:
                raise KeyError(key)
            check(result)

    def __iter__(self) -> Iterator[Key]:
        m = self._map
        key = ffi.new("char[]", max(m.key_size, 1))
        previous = ffi.NULL
        while True:
            with guard:
                result = lib.gputrace_map_next_key(m._pointer, self._instance, previous, key, m.key_size)
                if result == -ENOENT:
                    return
                check(result)
            yield m._keys.unpack(bytes(ffi.buffer(key, m.key_size)))
            previous = key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def info(self) -> InstanceInfo:
        """Whose instance it is; Error with errno ERANGE for initial values."""
        info = ffi.new("struct gputrace_instance_info *", {"size": ffi.sizeof("struct gputrace_instance_info")})
        with guard:
            check(lib.gputrace_map_get_instance_info(self._map._pointer, self._instance, info))
        return InstanceInfo(pid=info.pid, context=info.context, gpu=None if info.gpu == 2**32 - 1 else info.gpu,
                            uuid=UUID(bytes=bytes(ffi.buffer(info.uuid))))

    def sum(self, key: Key) -> int:
        """The sum of an element over its slots; values of 4 or 8 bytes only."""
        return self._map._sum(self._instance, key)

    def _read(self, keys: Any, values: Any) -> int:
        count = ffi.new("uint32_t *")
        m = self._map
        with guard:
            check(lib.gputrace_map_read_all(m._pointer, self._instance, keys, values, m.max_entries, count))
        return int(count[0])

    def snapshot(self) -> Dict[Key, Value]:
        """All elements as a dictionary, copied at one moment."""
        m = self._map
        key_size, value_size = m.key_size, m.value_size * m.slots
        keys = bytearray(m.max_entries * key_size)
        values = bytearray(m.max_entries * value_size)
        count = self._read(ffi.from_buffer(keys), ffi.from_buffer(values))
        return {m._keys.unpack(bytes(keys[i * key_size:(i + 1) * key_size])):
                m._unpack_slots(bytes(values[i * value_size:(i + 1) * value_size])) for i in range(count)}

    def to_numpy(self) -> Tuple[Any, Any]:
        """All keys and all values, copied once at one moment, as two numpy arrays.

        Integers and struct formats of one kind of number become that type, with
        a dimension for the slots if the map has several and one for a format of
        several numbers; others are bytes in a last dimension.
        """
        import numpy

        m = self._map
        keys = numpy.zeros((m.max_entries, m.key_size), numpy.uint8)
        values = numpy.zeros((m.max_entries, m.slots, m.value_size), numpy.uint8)
        count = self._read(ffi.from_buffer(keys), ffi.from_buffer(values))
        return _typed(keys[:count], m._keys), _typed(values[:count, 0] if m.slots == 1 else values[:count], m._values)

    def numpy_view(self) -> Any:
        """The values of an array map in place, without copying, as a numpy array that cannot be written.

        Types and dimensions are those of to_numpy().  The array shows what the
        last Object.refresh() fetched and changes with the next one; of MAP_HOST
        and shared maps it shows what is there at the moment.  It stays valid
        whatever is closed, with what was there last.  Error with errno
        EOPNOTSUPP: the map is no array.
        """
        import numpy

        m = self._map
        data, stride = ffi.new("void **"), ffi.new("size_t *")
        with guard:
            check(lib.gputrace_map_borrow_values(m._pointer, self._instance, data, stride))
            lib.gputrace_object_ref(m._object._pointer)
            # What is borrowed is the object's: the array keeps it.
            memory = own(m._object._pointer, lib.gputrace_object_unref)
        values = ffi.gc(ffi.cast("char *", data[0]), lambda _: memory)
        size = m.max_entries * m.slots * stride[0]
        plain = numpy.frombuffer(memoryview(ffi.buffer(values, size)).toreadonly(), numpy.uint8)
        array = plain.reshape(m.max_entries, m.slots, stride[0])[..., :m.value_size]
        return _typed(array[:, 0] if m.slots == 1 else array, m._values)


def _typed(array: Any, layout: Layout) -> Any:
    """Bytes in the last dimension as numbers."""
    form = (layout.form or "").lstrip("@=<>!")
    order = {"<": "<", ">": ">", "!": ">"}.get((layout.form or "=")[0], "=")
    if not form or len(set(form)) != 1 or not set(form) <= set("bBhHiIqQfd"):
        return array
    # int and unsigned have four bytes wherever "=" is used, which numpy calls i4.
    kinds = {"b": "i1", "B": "u1", "h": "i2", "H": "u2", "i": "i4", "I": "u4", "q": "i8", "Q": "u8",
             "f": "f4", "d": "f8"}
    typed = array.view(order + kinds[form[0]])
    return typed[..., 0] if len(form) == 1 else typed


class Map(MutableMapping[Key, Value]):
    """A map of an object.

    As a mapping it is its only instance, or the initial values while there is
    none yet; with several instances, say which: map.instance(n), or
    map.sum(key) for all.
    """

    def __init__(self, object: "Object", item: Any, key_format: Optional[str] = None,
                 value_format: Optional[str] = None) -> None:
        self._object = object
        self._item = item
        with guard:
            pointer = self._pointer
            self.name: str = sure_text(lib.gputrace_map_get_name(pointer))
            #: a MapType, or a number that it does not list
            self.type: int = lib.gputrace_map_get_type(pointer)
            self.key_size: int = lib.gputrace_map_get_key_size(pointer)  #: bytes
            self.value_size: int = lib.gputrace_map_get_value_size(pointer)  #: bytes, of one slot
            self.max_entries: int = lib.gputrace_map_get_max_entries(pointer)
        if self.type in MapType.__members__.values():
            self.type = MapType(self.type)
        self._keys = Layout(self.key_size, key_format)
        self._values = Layout(self.value_size, value_format)

    @property
    def _pointer(self) -> Any:
        self._object._pointer  # raises when it is closed
        return self._item

    def __repr__(self) -> str:
        kind = self.type.name if isinstance(self.type, MapType) else self.type
        return f"<gputrace.Map {self.name!r}: {kind}, {self.key_size} -> {self.value_size} bytes>"

    def with_format(self, value: Optional[str] = None, key: Optional[str] = None) -> "Map":
        """The same map with keys and values in forms of the struct module, as "IIQ".

        No padding is assumed and the machine's byte order, unless the format
        begins with one of struct's own signs.
        """
        return Map(self._object, self._item, key, value)

    @property
    def slots(self) -> int:
        """Values kept for each key: 1, or the number of threads, warps, blocks or SMs."""
        with guard:
            return int(lib.gputrace_map_get_slots(self._pointer))

    @property
    def instance_count(self) -> int:
        """How many CUDA contexts have run programs with this map so far."""
        with guard:
            return check(lib.gputrace_map_count_instances(self._pointer))

    def instance(self, number: int) -> MapView:
        """One instance, from 0; Error with errno ERANGE when used if there is no such."""
        return MapView(self, number)

    @property
    def instances(self) -> List[MapView]:
        """All instances there are now."""
        return [MapView(self, number) for number in range(self.instance_count)]

    @property
    def initial(self) -> MapView:
        """What every later instance begins with; of a shared map, what is in it."""
        return MapView(self, INITIAL)

    def _only(self) -> MapView:
        count = self.instance_count
        if count > 1:
            raise LookupError(f"map {self.name} has {count} instances: use instance(n), or sum(key) for all")
        return self.instance(0) if count else self.initial

    def __getitem__(self, key: Key) -> Value:
        return self._only()[key]

    def __setitem__(self, key: Key, value: Value) -> None:
        self._only()[key] = value

    def __delitem__(self, key: Key) -> None:
        del self._only()[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._only())

    def __len__(self) -> int:
        return len(self._only())

    def snapshot(self) -> Dict[Key, Value]:
        """MapView.snapshot() of the only instance."""
        return self._only().snapshot()

    def to_numpy(self) -> Tuple[Any, Any]:
        """MapView.to_numpy() of the only instance."""
        return self._only().to_numpy()

    def numpy_view(self) -> Any:
        """MapView.numpy_view() of the only instance."""
        return self._only().numpy_view()

    def sum(self, key: Key) -> int:
        """The sum of an element over all instances and slots; values of 4 or 8 bytes only.

        An array's is 0 before it is in any CUDA context; KeyError: no instance has the key.
        """
        return self._sum(ALL, key)

    def _sum(self, instance: int, key: Key) -> int:
        packed = self._keys.pack(key)
        result = ffi.new("uint64_t *")
        with guard:
            error = lib.gputrace_map_sum(self._pointer, instance, packed, len(packed), result)
            if error == -ENOENT:
                raise KeyError(key)
            check(error)
        return int(result[0])

    def _unpack_slots(self, data: bytes) -> Value:
        size = self.value_size
        if len(data) == size:
            return self._values.unpack(data)
        return [self._values.unpack(data[i:i + size]) for i in range(0, len(data), size)]

    def _pack_slots(self, value: Value) -> bytes:
        slots = self.slots
        if slots == 1 or isinstance(value, (bytes, bytearray)):
            return bytes(value) if isinstance(value, (bytes, bytearray)) else self._values.pack(value)
        if not isinstance(value, list) or len(value) != slots:
            raise ValueError(f"a list of {slots} values is needed, one for each slot")
        return b"".join(self._values.pack(one) for one in value)
