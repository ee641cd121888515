// Stands before a source that is built for a device with check="indices", whose SPIR-V then calls
// the function for each index of an array; see eumu.zebin.indices.

__attribute__((nodebug)) void __eumu_index(ulong site, ulong length, ulong index) {
  if (index >= length) {
    ulong item = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
    ulong groups = get_group_id(0) | (ulong)get_group_id(1) << 32;
    printf("\1eumu index 0 \1%v8ld",
           as_long8((ulong8)(item, groups, get_group_id(2), site, index, 0, 0, 0)));
  }
}
