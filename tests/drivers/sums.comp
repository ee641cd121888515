#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) writeonly buffer Out { uint y[]; };
layout(push_constant) uniform Push { uint add; };
shared uint part[64];
void main() {
  uint l = gl_LocalInvocationID.x;
  part[l] = x[gl_GlobalInvocationID.x];
  for (uint n = 32; n > 0; n /= 2) {
    barrier();
    if (l < n) part[l] += part[l + n];
  }
  if (l == 0) y[gl_WorkGroupID.x] = part[0] + add;
}
