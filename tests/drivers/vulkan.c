/* A program for Vulkan: a compute shader with shared memory and a barrier, and draws by which Mesa
 * fills and copies; tests/drivers/test_vulkan.py runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define CHECK(x) do { VkResult r_ = (x); if (r_) { printf("line %d: %s: %d\n", __LINE__, #x, r_); exit(1); } } while (0)
#define TRUE_(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); exit(1); } } while (0)
enum { N = 1024, GROUP = 64 };

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;

static uint32_t memory_type(uint32_t bits) {
  VkPhysicalDeviceMemoryProperties p;
  vkGetPhysicalDeviceMemoryProperties(physical, &p);
  for (uint32_t k = 0; k < p.memoryTypeCount; k++)
    if (bits >> k & 1 && (p.memoryTypes[k].propertyFlags & 6) == 6) return k;
  exit(printf("no memory that can be mapped\n"));
}

struct Mapped { VkBuffer buffer; uint32_t *data; };

static struct Mapped mapped(void) {
  struct Mapped m;
  VkDeviceMemory memory;
  VkBufferCreateInfo b = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4 * N, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
  CHECK(vkCreateBuffer(device, &b, 0, &m.buffer));
  VkMemoryRequirements r;
  vkGetBufferMemoryRequirements(device, m.buffer, &r);
  VkMemoryAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = r.size, .memoryTypeIndex = memory_type(r.memoryTypeBits)};
  CHECK(vkAllocateMemory(device, &a, 0, &memory));
  CHECK(vkBindBufferMemory(device, m.buffer, memory, 0));
  CHECK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&m.data));
  return m;
}

static void *whole_file(const char *name, size_t *size) {
  FILE *f = fopen(name, "rb");
  if (!f) exit(printf("no file %s\n", name));
  fseek(f, 0, SEEK_END);
  *size = ftell(f);
  rewind(f);
  void *data = malloc(*size);
  if (fread(data, 1, *size, f) != *size) exit(1);
  fclose(f);
  return data;
}

static void start(void) {
  VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  VkInstance instance;
  CHECK(vkCreateInstance(&info, 0, &instance));
  VkPhysicalDevice found[8];
  uint32_t count = 8;
  CHECK(vkEnumeratePhysicalDevices(instance, &count, found));
  VkPhysicalDeviceProperties p = {0};
  for (uint32_t k = 0; k < count && !physical; k++) {
    vkGetPhysicalDeviceProperties(found[k], &p);
    if (p.vendorID == 0x8086) physical = found[k];
  }
  if (!physical) exit(printf("no GPU of Intel's\n"));
  puts(p.deviceName);
  float priority = 1;
  VkDeviceQueueCreateInfo q = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  VkDeviceCreateInfo d = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &q};
  CHECK(vkCreateDevice(physical, &d, 0, &device));
  vkGetDeviceQueue(device, 0, 0, &queue);
  VkCommandPoolCreateInfo c = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  CHECK(vkCreateCommandPool(device, &c, 0, &pool));
}

static VkCommandBuffer begun(void) {
  VkCommandBuffer commands;
  VkCommandBufferAllocateInfo a = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
  CHECK(vkAllocateCommandBuffers(device, &a, &commands));
  VkCommandBufferBeginInfo b = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  CHECK(vkBeginCommandBuffer(commands, &b));
  return commands;
}

/* What waiting says: 0, or VK_ERROR_DEVICE_LOST. */
static VkResult ran(VkCommandBuffer commands) {
  CHECK(vkEndCommandBuffer(commands));
  VkFence fence;
  VkFenceCreateInfo f = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  CHECK(vkCreateFence(device, &f, 0, &fence));
  VkSubmitInfo s = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  VkResult r = vkQueueSubmit(queue, 1, &s, fence);
  return r ? r : vkWaitForFences(device, 1, &fence, VK_TRUE, 60000000000ull);
}

/* Each group adds its elements in shared memory; the sum goes to the place of the group. */
static void sums(const char *shader) {
  struct Mapped in = mapped(), out = mapped();
  VkDescriptorSetLayoutBinding bindings[2] = {{0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, 0}, {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, 0}};
  VkDescriptorSetLayoutCreateInfo li = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 2, .pBindings = bindings};
  VkDescriptorSetLayout layout;
  CHECK(vkCreateDescriptorSetLayout(device, &li, 0, &layout));
  VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
  VkPipelineLayoutCreateInfo pi = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &layout, .pushConstantRangeCount = 1, .pPushConstantRanges = &range};
  VkPipelineLayout whole;
  CHECK(vkCreatePipelineLayout(device, &pi, 0, &whole));
  VkShaderModuleCreateInfo mi = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  mi.pCode = whole_file(shader, &mi.codeSize);
  VkShaderModule module;
  CHECK(vkCreateShaderModule(device, &mi, 0, &module));
  VkComputePipelineCreateInfo ci = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = whole, .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module, .pName = "main"}};
  VkPipeline pipeline;
  CHECK(vkCreateComputePipelines(device, 0, 1, &ci, 0, &pipeline));
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
  VkDescriptorPoolCreateInfo dp = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
  VkDescriptorPool sets;
  CHECK(vkCreateDescriptorPool(device, &dp, 0, &sets));
  VkDescriptorSetAllocateInfo sa = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorPool = sets, .descriptorSetCount = 1, .pSetLayouts = &layout};
  VkDescriptorSet set;
  CHECK(vkAllocateDescriptorSets(device, &sa, &set));
  VkDescriptorBufferInfo infos[2] = {{in.buffer, 0, VK_WHOLE_SIZE}, {out.buffer, 0, VK_WHOLE_SIZE}};
  VkWriteDescriptorSet w = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .descriptorCount = 2, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = infos};
  vkUpdateDescriptorSets(device, 1, &w, 0, 0);
  for (uint32_t round = 1; round <= 3; round++) {
    for (uint32_t k = 0; k < N; k++) in.data[k] = k * round, out.data[k] = 0;
    VkCommandBuffer c = begun();
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, whole, 0, 1, &set, 0, 0);
    vkCmdPushConstants(c, whole, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &round);
    vkCmdDispatch(c, N / GROUP, 1, 1);
    CHECK(ran(c));
    for (uint32_t g = 0; g < N / GROUP; g++) {
      uint32_t sum = round;
      for (uint32_t k = 0; k < GROUP; k++) sum += (g * GROUP + k) * round;
      if (out.data[g] != sum) exit(printf("round %u, group %u: %u, not %u\n", round, g, out.data[g], sum));
    }
  }
}

static void fill(void) { struct Mapped m = mapped(); VkCommandBuffer c = begun(); vkCmdFillBuffer(c, m.buffer, 0, VK_WHOLE_SIZE, 7); printf("fill %d\n", ran(c)); }

static void copy(void) {
  struct Mapped a = mapped(), b = mapped();
  VkCommandBuffer c = begun();
  VkBufferCopy part = {0, 0, 4 * N};
  vkCmdCopyBuffer(c, a.buffer, b.buffer, 1, &part);
  printf("copy %d\n", ran(c));
}

int main(int argc, char **argv) {
  start();
  for (int k = 1; k < argc; k++) {
    if (!strcmp(argv[k], "fill")) fill();
    else if (!strcmp(argv[k], "copy")) copy();
    else if (!strcmp(argv[k], "none")) continue;
    else sums(argv[k]), puts("sums ok");
    fflush(stdout);
  }
  return 0;
}
