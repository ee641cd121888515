/* A program for Level Zero, with a case for each kind of work, for test_level_zero.py.
 * Its first argument is a module with the kernel saxpy(x, y, a): y += a * x. */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { ze_result_t e_ = (x); if (e_) { printf("line %d: %s: %#x\n", __LINE__, #x, e_); exit(1); } } while (0)
#define TRUE_(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)
enum { N = 1024, GROUP = 64 };

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_module_handle_t module;

static float *shared(float first, float step) {
  ze_device_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t h = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  float *made;
  CHECK(zeMemAllocShared(context, &d, &h, 4 * N, 64, device, (void **)&made));
  for (int i = 0; i < N; i++) made[i] = first + step * i;
  return made;
}

static ze_kernel_handle_t kernel_of(float *x, float *y, float a) {
  ze_kernel_desc_t d = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "saxpy"};
  ze_kernel_handle_t k;
  CHECK(zeKernelCreate(module, &d, &k));
  CHECK(zeKernelSetGroupSize(k, GROUP, 1, 1));
  CHECK(zeKernelSetArgumentValue(k, 0, sizeof x, &x));
  CHECK(zeKernelSetArgumentValue(k, 1, sizeof y, &y));
  CHECK(zeKernelSetArgumentValue(k, 2, sizeof a, &a));
  return k;
}

static ze_command_queue_handle_t queue(void) {
  ze_command_queue_desc_t d = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  ze_command_queue_handle_t q;
  CHECK(zeCommandQueueCreate(context, device, &d, &q));
  return q;
}

static ze_command_list_handle_t list(void) {
  ze_command_list_desc_t d = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
  ze_command_list_handle_t l;
  CHECK(zeCommandListCreate(context, device, &d, &l));
  return l;
}

static void are(const float *y, float first, float step) {
  for (int i = 0; i < N; i++) TRUE_(y[i] == first + step * i);
}

static void launch(void) {
  float *x = shared(0, 1), *y = shared(1, 2);
  ze_command_queue_handle_t q = queue();
  ze_command_list_handle_t l = list();
  ze_group_count_t groups = {N / GROUP, 1, 1};
  ze_kernel_handle_t k = kernel_of(x, y, 0.5f);
  for (int t = 0; t < 3; t++) {
    CHECK(zeCommandListAppendLaunchKernel(l, k, &groups, 0, 0, 0));
    CHECK(zeCommandListAppendBarrier(l, 0, 0, 0));
  }
  CHECK(zeCommandListClose(l));
  CHECK(zeCommandQueueExecuteCommandLists(q, 1, &l, 0));
  CHECK(zeCommandQueueSynchronize(q, UINT64_MAX));
  are(y, 1, 3.5f);
  CHECK(zeKernelDestroy(k));
  CHECK(zeMemFree(context, x));
  CHECK(zeMemFree(context, y));
  CHECK(zeCommandListDestroy(l));
  CHECK(zeCommandQueueDestroy(q));
}

/* A list is one batch, however long: here of more than 65,536 commands. */
static void long_list(void) {
  float *x = shared(0, 1), *y = shared(1, 2);
  ze_command_queue_handle_t q = queue();
  ze_command_list_handle_t l = list();
  ze_group_count_t groups = {N / GROUP, 1, 1};
  for (int t = 0; t < 70000; t++) CHECK(zeCommandListAppendBarrier(l, 0, 0, 0));
  CHECK(zeCommandListAppendLaunchKernel(l, kernel_of(x, y, 0.5f), &groups, 0, 0, 0));
  CHECK(zeCommandListClose(l));
  CHECK(zeCommandQueueExecuteCommandLists(q, 1, &l, 0));
  CHECK(zeCommandQueueSynchronize(q, UINT64_MAX));
  are(y, 1, 2.5f);
}

/* The host signals after the call that submits; the device tells the host by another event. */
static void events(void) {
  ze_event_pool_desc_t pd = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 2};
  ze_event_pool_handle_t pool;
  ze_event_handle_t e[2];
  CHECK(zeEventPoolCreate(context, &pd, 1, &device, &pool));
  for (unsigned k = 0; k < 2; k++) {
    ze_event_desc_t d = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = k, .signal = ZE_EVENT_SCOPE_FLAG_HOST, .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    CHECK(zeEventCreate(pool, &d, &e[k]));
  }
  float *x = shared(0, 1), *y = shared(0, 0);
  ze_command_queue_handle_t q = queue();
  ze_command_list_handle_t l = list();
  ze_group_count_t groups = {N / GROUP, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(l, kernel_of(x, y, 2), &groups, e[1], 1, &e[0]));
  CHECK(zeCommandListClose(l));
  CHECK(zeCommandQueueExecuteCommandLists(q, 1, &l, 0));
  TRUE_(zeEventQueryStatus(e[1]) == ZE_RESULT_NOT_READY && y[1] == 0);
  CHECK(zeEventHostSignal(e[0]));
  CHECK(zeEventHostSynchronize(e[1], UINT64_MAX));
  are(y, 0, 2);
  CHECK(zeCommandQueueSynchronize(q, UINT64_MAX));
}

/* How many groups there are is in memory when the kernel is submitted, and changes afterwards. */
static void indirect(void) {
  float *x = shared(0, 1), *y = shared(0, 0);
  ze_host_mem_alloc_desc_t h = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  ze_group_count_t *groups;
  CHECK(zeMemAllocHost(context, &h, sizeof *groups, 64, (void **)&groups));
  *groups = (ze_group_count_t){0, 0, 0};
  ze_command_queue_handle_t q = queue();
  ze_command_list_handle_t l = list();
  CHECK(zeCommandListAppendLaunchKernelIndirect(l, kernel_of(x, y, 1), groups, 0, 0, 0));
  CHECK(zeCommandListClose(l));
  *groups = (ze_group_count_t){3, 1, 1};
  CHECK(zeCommandQueueExecuteCommandLists(q, 1, &l, 0));
  CHECK(zeCommandQueueSynchronize(q, UINT64_MAX));
  for (int i = 0; i < N; i++) TRUE_(y[i] == (i < 3 * GROUP ? i : 0));
}

/* The kernel may reach all shared memory, its two arguments among it: the driver lists those twice. */
static void indirect_access(void) {
  float *x = shared(0, 1), *y = shared(0, 0);
  ze_command_queue_handle_t q = queue();
  ze_command_list_handle_t l = list();
  ze_group_count_t groups = {N / GROUP, 1, 1};
  ze_kernel_handle_t k = kernel_of(x, y, 3);
  CHECK(zeKernelSetIndirectAccess(k, ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED));
  CHECK(zeCommandListAppendLaunchKernel(l, k, &groups, 0, 0, 0));
  CHECK(zeCommandListClose(l));
  CHECK(zeCommandQueueExecuteCommandLists(q, 1, &l, 0));
  CHECK(zeCommandQueueSynchronize(q, UINT64_MAX));
  are(y, 0, 3);
}

static void copies(void) {
  float *x = shared(5, 1), *y = shared(0, 0), seven = 7;
  ze_command_queue_handle_t q = queue();
  ze_command_list_handle_t l = list();
  CHECK(zeCommandListAppendMemoryCopy(l, y, x, 2 * N, 0, 0, 0));
  CHECK(zeCommandListAppendMemoryFill(l, y + N / 2, &seven, sizeof seven, 2 * N, 0, 0, 0));
  CHECK(zeCommandListClose(l));
  CHECK(zeCommandQueueExecuteCommandLists(q, 1, &l, 0));
  CHECK(zeCommandQueueSynchronize(q, UINT64_MAX));
  for (int i = 0; i < N; i++) TRUE_(y[i] == (i < N / 2 ? 5 + i : 7));
}

static void *works(void *unused) {
  for (int k = 0; k < 10; k++) launch();
  return unused;
}

static void threads(void) {
  pthread_t t[8];
  for (int k = 0; k < 8; k++) TRUE_(!pthread_create(&t[k], 0, works, 0));
  for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
}

/* A pointer to nothing: the driver says that the device is lost, and does not wait for ever. */
static void fault(void) {
  float *x = shared(0, 1);
  ze_command_queue_handle_t q = queue();
  ze_command_list_handle_t l = list();
  ze_group_count_t groups = {1 << 20, 1, 1};
  CHECK(zeCommandListAppendLaunchKernel(l, kernel_of(x, x, 1), &groups, 0, 0, 0));
  CHECK(zeCommandListClose(l));
  ze_result_t e = zeCommandQueueExecuteCommandLists(q, 1, &l, 0);
  if (!e) e = zeCommandQueueSynchronize(q, UINT64_MAX);
  printf("result %#x\n", e);
}

static const struct { const char *name; void (*run)(void); } cases[] = {
    {"launch", launch}, {"long_list", long_list}, {"events", events}, {"indirect", indirect}, {"indirect_access", indirect_access}, {"copies", copies}, {"threads", threads}, {"fault", fault}};

int main(int argc, char **argv) {
  uint32_t one = 1;
  CHECK(zeInit(0));
  CHECK(zeDriverGet(&one, &driver));
  CHECK(zeDeviceGet(driver, &one, &device));
  ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  CHECK(zeDeviceGetProperties(device, &p));
  printf("%s, %u MHz\n", p.name, p.coreClockRate);
  ze_context_desc_t cd = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  CHECK(zeContextCreate(driver, &cd, &context));
  FILE *f = fopen(argv[1], "rb");
  TRUE_(f);
  static uint8_t data[1 << 20];
  size_t size = fread(data, 1, sizeof data, f);
  ze_module_format_t format = size > 4 && !memcmp(data, "\x7f" "ELF", 4) ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV;
  ze_module_desc_t md = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = format, .inputSize = size, .pInputModule = data, .pBuildFlags = ""};
  CHECK(zeModuleCreate(context, device, &md, &module, 0));
  for (int k = 2; k < argc; k++)
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++)
      if (!strcmp(argv[k], cases[c].name)) cases[c].run(), printf("%s ok\n", argv[k]), fflush(stdout);
  return 0;
}
