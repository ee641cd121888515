// Async copies: those that are right, and one kernel for each mistake.
kernel void waited_for(global int *data, local int *scratch) {
  event_t event = async_work_group_copy(scratch, data, get_local_size(0), 0);
  wait_group_events(1, &event);
  int i = get_local_id(0);
  data[get_local_size(0) - 1 - i] = scratch[i];
}

kernel void other_sizes(global int *data, local int *scratch) {
  int n = get_local_id(0) == 3 ? 1 : 4;
  event_t event = async_work_group_copy(scratch, data, n, 0);
  wait_group_events(1, &event);
}

kernel void by_one(global int *data, local int *scratch) {
  event_t event = async_work_group_copy(scratch, data, 4, 0);
  if (get_local_id(0) == 0)
    event = async_work_group_copy(scratch, data, 1, event);
  wait_group_events(1, &event);
}

kernel void forgotten(global int *data, local int *scratch) {
  async_work_group_copy(scratch, data, 4, 0);
  data[4 + get_local_id(0)] = 1;
}

kernel void no_event(global int *data, local int *scratch) {
  event_t event = 0;
  wait_group_events(1, &event);
}

kernel void other_events(global int *data, local int *scratch) {
  event_t events[2];
  events[0] = async_work_group_copy(scratch, data, 1, 0);
  events[1] = async_work_group_copy(scratch + 1, data + 1, 1, 0);
  wait_group_events(1, events + (get_local_id(0) & 1));
}

kernel void not_ordered(global int *data, local int *scratch) {
  scratch[get_local_id(0)] = 0;
  event_t event = async_work_group_copy(scratch, data, get_local_size(0), 0);
  wait_group_events(1, &event);
  data[get_local_id(0)] = scratch[get_local_size(0) - 1 - get_local_id(0)];
}
