// Stands before a source that is built for a device with check="copies".  Copies are made by other
// work items than those that a kernel's own loops would choose, and each call is written down.
// No function here has debug information, so that what it does is said of the line that calls it.

#define __eumu_helper __attribute__((overloadable, always_inline, nodebug))
typedef ulong __eumu_event;

__eumu_helper size_t __eumu_size(void) {
  return get_local_size(0) * get_local_size(1) * get_local_size(2);
}

__eumu_helper size_t __eumu_item(void) {
  return get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
}

// What is written down of each call: who calls, and with what.
__eumu_helper ulong8 __eumu_call(ulong a, ulong b, ulong c, ulong d, ulong e) {
  ulong groups = get_group_id(0) | (ulong)get_group_id(1) << 32;
  return (ulong8)(__eumu_item(), groups, get_group_id(2), a, b, c, d, e);
}

// Every copy has an event of its own, the same in all work items that make it.
__eumu_helper __eumu_event __eumu_made(ulong to, ulong from, ulong count, ulong line, ulong given) {
  ulong number = to * 0x9e3779b97f4a7c15 ^ from * 0xc2b2ae3d27d4eb4f ^ count * 0x165667b19e3779f9;
  return given ? given : (number ^ line * 0x27d4eb2f165667c5) | 1;
}

// An order of elements in which no kernel goes: a prime number of more bits than groups have sizes.
#define __eumu_elements(type, to, from)                                                      \
  __eumu_helper void __eumu_moved(to type *d, const from type *s, size_t n, size_t dn, size_t sn) { \
    size_t size = __eumu_size();                                                             \
    for (size_t i = (__eumu_item() * 1000003 + 1) % size; i < n; i += size)                   \
      d[i * dn] = s[i * sn];                                                                 \
  }
#define __eumu_copies(to, from)                                                               \
  __eumu_elements(uchar, to, from) __eumu_elements(ushort, to, from) __eumu_elements(uint, to, from) \
  __eumu_elements(ulong, to, from) __eumu_elements(uint4, to, from)                            \
  __eumu_elements(ulong4, to, from) __eumu_elements(ulong8, to, from)                          \
  __eumu_elements(ulong16, to, from)                                                           \
  __eumu_helper void __eumu_move(to void *d, const from void *s, size_t z, size_t n, size_t dn,  \
                                 size_t sn) {                                                 \
    switch (z) {                                                                              \
    case 1: __eumu_moved((to uchar *)d, (const from uchar *)s, n, dn, sn); break;               \
    case 2: __eumu_moved((to ushort *)d, (const from ushort *)s, n, dn, sn); break;             \
    case 4: __eumu_moved((to uint *)d, (const from uint *)s, n, dn, sn); break;                 \
    case 8: __eumu_moved((to ulong *)d, (const from ulong *)s, n, dn, sn); break;               \
    case 16: __eumu_moved((to uint4 *)d, (const from uint4 *)s, n, dn, sn); break;              \
    case 32: __eumu_moved((to ulong4 *)d, (const from ulong4 *)s, n, dn, sn); break;            \
    case 64: __eumu_moved((to ulong8 *)d, (const from ulong8 *)s, n, dn, sn); break;            \
    default: __eumu_moved((to ulong16 *)d, (const from ulong16 *)s, n, dn, sn);                 \
    }                                                                                         \
  }
__eumu_copies(local, global)
__eumu_copies(global, local)

// The stride is that of the global side.
__eumu_helper void __eumu_copy(local void *d, const global void *s, size_t z, size_t n, size_t t) {
  __eumu_move(d, s, z, n, 1, t);
}
__eumu_helper void __eumu_copy(global void *d, const local void *s, size_t z, size_t n, size_t t) {
  __eumu_move(d, s, z, n, t, 1);
}

__eumu_helper void __eumu_wait(void) {
  event_t none = (event_t)0;
  wait_group_events(0, &none);
}

#define __eumu_text(number) #number
#define __eumu_line(number) __eumu_text(number)
#define __eumu_note(what, call)                                                               \
  printf("\1eumu " what " " __eumu_line(__LINE__) " " __FILE__ "\1%v8ld", as_long8(call))

#define event_t __eumu_event
#define async_work_group_strided_copy(to, from, count, stride, event)                         \
  ({                                                                                          \
    __auto_type __eumu_d = (to);                                                               \
    __auto_type __eumu_s = (from);                                                             \
    size_t __eumu_n = (count), __eumu_t = (stride), __eumu_z = sizeof(*__eumu_s);               \
    __eumu_event __eumu_e =                                                                    \
        __eumu_made((ulong)__eumu_d, (ulong)__eumu_s, __eumu_n, __LINE__, (event));             \
    __eumu_note("copy", __eumu_call((ulong)__eumu_d, (ulong)__eumu_s, __eumu_n,                 \
                                    __eumu_t << 8 | __eumu_z, __eumu_e));                      \
    __eumu_copy(__eumu_d, __eumu_s, __eumu_z, __eumu_n, __eumu_t);                              \
    __eumu_e;                                                                                 \
  })
#define async_work_group_copy(to, from, count, event)                                          \
  async_work_group_strided_copy(to, from, count, 1, event)
#define wait_group_events(count, list)                                                         \
  ({                                                                                          \
    int __eumu_n = (count);                                                                    \
    __eumu_event *__eumu_l = (list);                                                           \
    for (int __eumu_k = 0; __eumu_k < __eumu_n; __eumu_k++)                                     \
      __eumu_note("event", __eumu_call(__eumu_l[__eumu_k], 0, 0, 0, 0));                         \
    __eumu_note("wait", __eumu_call(__eumu_n, 0, 0, 0, 0));                                     \
    __eumu_wait();                                                                            \
  })
