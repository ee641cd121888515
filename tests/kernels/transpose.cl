// out[x][y] = in[y][x] through a padded tile in local memory; global size (width, height).
#define TILE 16

kernel void transpose(global const float *in, global float *out, int width, int height) {
    local float tile[TILE][TILE + 1];
    int x = get_group_id(0) * TILE, y = get_group_id(1) * TILE;
    int lx = get_local_id(0), ly = get_local_id(1);
    tile[ly][lx] = in[(y + ly) * width + x + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(x + ly) * height + y + lx] = tile[lx][ly];
}
