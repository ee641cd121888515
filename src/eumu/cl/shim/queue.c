/* Queues, commands and events.
 *
 * A command whose waits are over, and before which nothing is left in an in-order queue, runs in the
 * thread that enqueues it.  Others are run by a thread of their queue, which ends when there are none.
 */
#include "driver.h"

/* ---- events */

static struct Event *new_event(struct Context *context, struct Queue *q, cl_uint type) {
  struct Event *e = make(EVENT, sizeof *e);
  use(context);
  use(q);
  e->context = context, e->queue = q, e->type = type;
  e->status = q ? CL_QUEUED : CL_SUBMITTED;
  e->times[0] = now_ns();
  return e;
}

void free_event(struct Event *e) {
  while (e->callbacks) {
    struct Callback *c = e->callbacks;
    e->callbacks = c->next;
    free(c);
  }
  unuse(e->queue);
  unuse(e->context);
}

/* The next state of an event, then the callbacks that wait for it. */
static void advance(struct Event *e, cl_int status) {
  struct Callback *due = 0, **at;
  pthread_mutex_lock(&state);
  if (status >= 0 && status < CL_QUEUED) e->times[CL_QUEUED - status] = now_ns();
  if (status < 0) {
    cl_ulong now = now_ns();
    for (int k = 1; k < 4; k++)
      if (!e->times[k]) e->times[k] = now;
  }
  e->status = status;
  for (at = &e->callbacks; *at;) {
    struct Callback *c = *at;
    if (c->when < status) { at = &c->next; continue; }
    *at = c->next;
    c->next = due, due = c;
  }
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&state);
  while (due) { /* in the order in which they were given: the list had the latest first */
    struct Callback *c = due;
    due = c->next;
    ((void (*)(struct Event *, cl_int, void *))c->call)(e, status < 0 ? status : c->when, c->user);
    free(c);
  }
}

static int is_over(const struct Event *e) { return e->status <= CL_COMPLETE; }

ENTRY cl_int clWaitForEvents(cl_uint count, const cl_event *events) {
  if (!count || !events) return refused(CL_INVALID_VALUE, "there is no list of events, or it has none");
  for (cl_uint k = 0; k < count; k++)
    if (!is_object(events[k], EVENT)) return CL_INVALID_EVENT;
  for (cl_uint k = 1; k < count; k++)
    if (((struct Event *)events[k])->context != ((struct Event *)events[0])->context) return refused(CL_INVALID_CONTEXT, "event %u of the list is of another context than the first one", k);
  cl_int found = CL_SUCCESS;
  for (cl_uint k = 0; k < count; k++) {
    struct Event *e = (void *)events[k];
    use(e);
    pthread_mutex_lock(&state);
    while (!is_over(e)) pthread_cond_wait(&changed, &state);
    if (e->status < 0) found = refused(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "event %u of the list, #%llu, ended with error %d", k, (unsigned long long)e->base.number, e->status);
    pthread_mutex_unlock(&state);
    unuse(e);
  }
  return found;
}

ENTRY cl_int clGetEventInfo(cl_event event, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Event *e = (void *)event;
  if (!is_object(e, EVENT)) return CL_INVALID_EVENT;
  cl_int status = e->status;
  switch (what) {
    case CL_EVENT_COMMAND_QUEUE: return answer(&e->queue, sizeof e->queue, size, value, size_ret);
    case CL_EVENT_CONTEXT: return answer(&e->context, sizeof e->context, size, value, size_ret);
    case CL_EVENT_COMMAND_TYPE: return answer(&e->type, sizeof e->type, size, value, size_ret);
    case CL_EVENT_COMMAND_EXECUTION_STATUS: return answer(&status, sizeof status, size, value, size_ret);
    case CL_EVENT_REFERENCE_COUNT: return answer(&e->base.refs, sizeof e->base.refs, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clGetEventProfilingInfo(cl_event event, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Event *e = (void *)event;
  if (!is_object(e, EVENT)) return CL_INVALID_EVENT;
  if (!e->queue) return refused(CL_PROFILING_INFO_NOT_AVAILABLE, "a user event has no times");
  if (!(e->queue->properties & CL_QUEUE_PROFILING_ENABLE))
    return refused(CL_PROFILING_INFO_NOT_AVAILABLE, "the queue was made without CL_QUEUE_PROFILING_ENABLE");
  if (e->status != CL_COMPLETE) return refused(CL_PROFILING_INFO_NOT_AVAILABLE, "the command has not ended");
  cl_uint place = what - CL_PROFILING_COMMAND_QUEUED;
  if (place == 4) place = 3; /* CL_PROFILING_COMMAND_COMPLETE: kernels start no others */
  if (place > 3) return CL_INVALID_VALUE;
  return answer(&e->times[place], sizeof *e->times, size, value, size_ret);
}

ENTRY cl_event clCreateUserEvent(cl_context context, cl_int *error) {
  int is_good = is_object(context, CONTEXT);
  if (error) *error = is_good ? CL_SUCCESS : CL_INVALID_CONTEXT;
  return is_good ? (cl_event)new_event((void *)context, 0, CL_COMMAND_USER) : 0;
}

ENTRY cl_int clSetUserEventStatus(cl_event event, cl_int status) {
  struct Event *e = (void *)event;
  if (!is_object(e, EVENT)) return CL_INVALID_EVENT;
  if (e->queue) return refused(CL_INVALID_EVENT, "event #%llu is of a command, no user event", (unsigned long long)e->base.number);
  if (status > CL_COMPLETE) return refused(CL_INVALID_VALUE, "the status is neither CL_COMPLETE nor an error");
  pthread_mutex_lock(&state);
  int was_set = e->is_set;
  e->is_set = 1;
  pthread_mutex_unlock(&state);
  if (was_set) return refused(CL_INVALID_OPERATION, "the status of event #%llu has been set before", (unsigned long long)e->base.number);
  use(e);
  advance(e, status);
  unuse(e);
  return CL_SUCCESS;
}

ENTRY cl_int clSetEventCallback(cl_event event, cl_int when, void (*call)(cl_event, cl_int, void *), void *user) {
  struct Event *e = (void *)event;
  if (!is_object(e, EVENT)) return CL_INVALID_EVENT;
  if (!call) return refused(CL_INVALID_VALUE, "there is no function to call");
  if (when < CL_COMPLETE || when > CL_SUBMITTED) return refused(CL_INVALID_VALUE, "%d is no status to be called at", when);
  pthread_mutex_lock(&state);
  cl_int status = e->status;
  if (status > when) add_callback(&e->callbacks, (Notify)call, when, user);
  pthread_mutex_unlock(&state);
  if (status <= when) call(event, status < 0 ? status : when, user);
  return CL_SUCCESS;
}

ENTRY cl_int clRetainEvent(cl_event e) { return retain(e, EVENT, CL_INVALID_EVENT); }
ENTRY cl_int clReleaseEvent(cl_event e) { return release(e, EVENT, CL_INVALID_EVENT); }

/* ---- commands */

void *command(struct Queue *q, cl_uint type, cl_int (*run)(struct Command *)) {
  struct Command *c = room(sizeof *c);
  use(q);
  c->queue = q, c->run = run;
  use(c->event = new_event(q->context, q, type)); /* its first reference is the program's */
  return c;
}

static void add_kept(struct Command *c, void *object) {
  if (!(c->keep_count & (c->keep_count + 1))) { /* room for twice as many */
    c->keeps = realloc(c->keeps, 2 * (c->keep_count + 1) * sizeof *c->keeps);
    if (!c->keeps) abort();
  }
  c->keeps[c->keep_count++] = object;
}

void keep(struct Command *c, void *object) {
  use(object);
  add_kept(c, object);
}

/* Keep what may have ended before: whether it is there. */
int keep_if_there(struct Command *c, void *object, enum Kind kind, uint64_t number) {
  int is_there = use_if_there(object, kind, number);
  if (is_there) add_kept(c, object);
  return is_there;
}

/* What it needed to run, and nobody else has, ends now. */
static void let_go(struct Command *c) {
  for (uint32_t k = 0; k < c->keep_count; k++) unuse(c->keeps[k]);
  free(c->keeps);
  c->keeps = 0, c->keep_count = 0;
}

static void discard(struct Command *c) {
  for (uint32_t k = 0; k < c->wait_count; k++) unuse(c->waits[k]);
  let_go(c);
  unuse(c->event);
  unuse(c->queue);
  free(c->waits);
  free(c->copy);
  free(c);
}

/* Let a command go that was never enqueued. */
void cancel(struct Command *c) {
  clReleaseEvent((cl_event)c->event);
  discard(c);
}

cl_int check_waits(struct Context *context, cl_uint count, const cl_event *waits) {
  if (!count != !waits) return refused(CL_INVALID_EVENT_WAIT_LIST, "%u events are to be waited for, and the list is %s", count, waits ? "there" : "null");
  for (cl_uint k = 0; k < count; k++) {
    if (!is_object(waits[k], EVENT)) return CL_INVALID_EVENT_WAIT_LIST;
    if (((struct Event *)waits[k])->context != context) return refused(CL_INVALID_CONTEXT, "event %u of the list is of another context than the queue", k);
  }
  return CL_SUCCESS;
}

static void execute(struct Command *c) {
  struct Queue *q = c->queue;
  struct Event *e = c->event;
  cl_int status = CL_SUCCESS;
  for (uint32_t k = 0; k < c->wait_count; k++)
    if (c->waits[k]->status < 0) status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  advance(e, CL_SUBMITTED);
  if (!status) { /* what did not run has done nothing wrong: clFinish says nothing of it */
    advance(e, CL_RUNNING);
    status = c->run(c);
    pthread_mutex_lock(&state);
    if (status) q->failed = status;
    pthread_mutex_unlock(&state);
  }
  let_go(c); /* who waits for the event may then free the memory of a buffer that it has released */
  advance(e, status < 0 ? status : CL_COMPLETE);
  use(q);
  discard(c);
  pthread_mutex_lock(&state);
  q->running--, q->context->commands--;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&state);
  unuse(q);
}

static int waits_are_over(const struct Command *c) {
  for (uint32_t k = 0; k < c->wait_count; k++)
    if (!is_over(c->waits[k])) return 0;
  return 1;
}

/* Take a command that may run now out of the queue; under `state`. */
static struct Command *next_of(struct Queue *q) {
  int is_free = q->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  if (!is_free && q->running) return 0;
  struct Command *before = 0;
  for (struct Command *c = q->first; c; before = c, c = c->next) {
    if (waits_are_over(c) && !(c->follows_all && (before || q->running))) {
      if (before) before->next = c->next; else q->first = c->next;
      if (q->last == c) q->last = before;
      q->running++;
      return c;
    }
    if (!is_free || c->holds_others) return 0;
  }
  return 0;
}

static void *work(void *user) {
  struct Queue *q = user;
  pthread_mutex_lock(&state);
  while (q->first) {
    struct Command *c = next_of(q);
    if (!c) { pthread_cond_wait(&changed, &state); continue; }
    pthread_mutex_unlock(&state);
    execute(c);
    pthread_mutex_lock(&state);
  }
  q->has_worker = 0;
  pthread_mutex_unlock(&state);
  unuse(q);
  return 0;
}

/* Put a command behind the others; under `state`.  Whether there is a thread that runs it. */
static int append(struct Command *c) {
  struct Queue *q = c->queue;
  if (q->last) q->last->next = c; else q->first = c;
  q->last = c;
  if (q->has_worker) { pthread_cond_broadcast(&changed); return 1; }
  pthread_t thread;
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  q->base.uses++;
  q->has_worker = !pthread_create(&thread, &detached, work, q);
  pthread_attr_destroy(&detached);
  if (!q->has_worker) q->base.uses--;
  return q->has_worker;
}

/* What a queue's commands have run into since somebody last asked. */
static cl_int failure_of(struct Queue *q) {
  pthread_mutex_lock(&state);
  cl_int failed = q->failed;
  q->failed = CL_SUCCESS;
  pthread_mutex_unlock(&state);
  return failed;
}

static cl_int wait_for(struct Event *e, struct Queue *q) {
  pthread_mutex_lock(&state);
  while (!is_over(e)) pthread_cond_wait(&changed, &state);
  cl_int status = e->status;
  pthread_mutex_unlock(&state);
  cl_int failed = failure_of(q);
  return status < 0 ? status : failed;
}

/* Put a command into its queue, or run it at once.  `waits` were checked.  Takes the command. */
cl_int enqueue(struct Command *c, cl_uint count, const cl_event *waits, cl_event *event, cl_bool blocking) {
  struct Queue *q = c->queue;
  struct Event *e = c->event;
  c->wait_count = count;
  c->waits = room(count * sizeof *c->waits);
  for (cl_uint k = 0; k < count; k++) use(c->waits[k] = (struct Event *)waits[k]);
  use(q);
  if (event) *event = (cl_event)e;
  pthread_mutex_lock(&state);
  int is_free = q->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  int at_once = waits_are_over(c) && !q->first && (!q->running || (is_free && !c->follows_all));
  int is_left = 0;
  q->context->commands++;
  if (at_once) q->running++;
  else is_left = !append(c);
  pthread_mutex_unlock(&state);
  if (at_once) execute(c);
  cl_int status = is_left ? CL_OUT_OF_HOST_MEMORY : CL_SUCCESS;
  if (blocking && !is_left) status = wait_for(e, q);
  if (!event) clReleaseEvent((cl_event)e);
  unuse(q);
  return status;
}

/* ---- queues */

static cl_int properties_of(const cl_ulong *list, struct Queue *q) {
  for (; list && list[0] && q->property_count < 6; list += 2) {
    if (list[0] == CL_QUEUE_SIZE) return refused(CL_INVALID_QUEUE_PROPERTIES, "there are no queues on the device");
    if (list[0] != CL_QUEUE_PROPERTIES) return refused(CL_INVALID_VALUE, "%#llx is no property of queues", (unsigned long long)list[0]);
    if (list[1] & ~3ull) return refused(list[1] & ~15ull ? CL_INVALID_VALUE : CL_INVALID_QUEUE_PROPERTIES, "properties %#llx: the device has queues out of order and with profiling, none on the device", (unsigned long long)list[1]);
    q->properties = list[1];
    q->property_list[q->property_count++] = list[0];
    q->property_list[q->property_count++] = list[1];
  }
  if (list) q->property_list[q->property_count++] = 0;
  return CL_SUCCESS;
}

ENTRY cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device, const cl_ulong *list, cl_int *error) {
  struct Queue found = {0}, *q;
  cl_int wrong = CL_SUCCESS;
  if (!is_object(context, CONTEXT)) wrong = CL_INVALID_CONTEXT;
  else if (!is_object(device, DEVICE)) wrong = CL_INVALID_DEVICE;
  else wrong = properties_of(list, &found);
  if (error) *error = wrong;
  if (wrong) return 0;
  q = make(QUEUE, sizeof *q);
  found.base = q->base;
  *q = found;
  use(q->context = (struct Context *)context);
  return (cl_command_queue)q;
}

ENTRY cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_bitfield properties, cl_int *error) {
  cl_ulong list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_command_queue made = clCreateCommandQueueWithProperties(context, device, list, error);
  if (made) ((struct Queue *)made)->property_count = 0;
  return made;
}

ENTRY cl_int clSetCommandQueueProperty(cl_command_queue queue, cl_bitfield properties, cl_bool enable, cl_bitfield *old) {
  struct Queue *q = (void *)queue;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (properties & ~3ull) return refused(CL_INVALID_VALUE, "properties %#llx are none of a queue", (unsigned long long)properties);
  clFinish(queue);
  if (old) *old = q->properties;
  q->properties = enable ? q->properties | properties : q->properties & ~properties;
  return CL_SUCCESS;
}

ENTRY cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_uint what, size_t size, void *value, size_t *size_ret) {
  struct Queue *q = (void *)queue;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  void *device = &the_device, *none = 0;
  switch (what) {
    case CL_QUEUE_CONTEXT: return answer(&q->context, sizeof q->context, size, value, size_ret);
    case CL_QUEUE_DEVICE: return answer(&device, sizeof device, size, value, size_ret);
    case CL_QUEUE_REFERENCE_COUNT: return answer(&q->base.refs, sizeof q->base.refs, size, value, size_ret);
    case CL_QUEUE_PROPERTIES: return answer(&q->properties, sizeof q->properties, size, value, size_ret);
    case CL_QUEUE_DEVICE_DEFAULT: return answer(&none, sizeof none, size, value, size_ret);
    case CL_QUEUE_SIZE: return CL_INVALID_COMMAND_QUEUE; /* of queues on the device alone */
    case CL_QUEUE_PROPERTIES_ARRAY:
      return answer(q->property_list, q->property_count * sizeof(cl_ulong), size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

ENTRY cl_int clRetainCommandQueue(cl_command_queue q) { return retain(q, QUEUE, CL_INVALID_COMMAND_QUEUE); }
ENTRY cl_int clReleaseCommandQueue(cl_command_queue q) { return release(q, QUEUE, CL_INVALID_COMMAND_QUEUE); }

ENTRY cl_int clFlush(cl_command_queue queue) {
  return is_object(queue, QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

ENTRY cl_int clFinish(cl_command_queue queue) {
  struct Queue *q = (void *)queue;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  use(q);
  pthread_mutex_lock(&state);
  while (q->first || q->running) pthread_cond_wait(&changed, &state);
  pthread_mutex_unlock(&state);
  cl_int failed = failure_of(q);
  unuse(q);
  return failed;
}

/* ---- markers and barriers: they wait for a list, or without one for all that came before */

static cl_int nothing(struct Command *c) { (void)c; return CL_SUCCESS; }

static cl_int mark(cl_command_queue queue, cl_uint type, cl_uint count, const cl_event *waits, cl_event *event, int holds) {
  struct Queue *q = (void *)queue;
  if (!is_object(q, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  cl_int wrong = check_waits(q->context, count, waits);
  if (wrong) return wrong;
  struct Command *c = command(q, type, nothing);
  c->follows_all = !count, c->holds_others = holds;
  return enqueue(c, count, waits, event, CL_FALSE);
}

ENTRY cl_int clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint count, const cl_event *waits, cl_event *event) {
  return mark(q, CL_COMMAND_MARKER, count, waits, event, 0);
}

ENTRY cl_int clEnqueueBarrierWithWaitList(cl_command_queue q, cl_uint count, const cl_event *waits, cl_event *event) {
  return mark(q, CL_COMMAND_BARRIER, count, waits, event, 1);
}

ENTRY cl_int clEnqueueMarker(cl_command_queue q, cl_event *event) {
  return event ? mark(q, CL_COMMAND_MARKER, 0, 0, event, 0) : refused(CL_INVALID_VALUE, "there is no place for the event");
}

ENTRY cl_int clEnqueueBarrier(cl_command_queue q) { return mark(q, CL_COMMAND_BARRIER, 0, 0, 0, 1); }

ENTRY cl_int clEnqueueWaitForEvents(cl_command_queue q, cl_uint count, const cl_event *waits) {
  if (!count || !waits) return refused(CL_INVALID_VALUE, "there is no list of events, or it has none");
  cl_int wrong = mark(q, CL_COMMAND_BARRIER, count, waits, 0, 1);
  return wrong == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : wrong;
}
