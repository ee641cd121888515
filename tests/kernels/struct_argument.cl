// A struct passed by value, and an array of structs in memory.
typedef struct {
    float4 scale;
    int offset;
    char sign;
    short step;
    float weight[3];
    long big;
} Parameters;

typedef struct {
    float value;
    uchar tag;
    int link;
} Item;

kernel void struct_argument(Parameters p, global const Item *items, global float *out,
                            global long *total) {
    int i = get_global_id(0);
    Item item = items[i];
    float scale = i % 4 == 0 ? p.scale.x : i % 4 == 1 ? p.scale.y : i % 4 == 2 ? p.scale.z : p.scale.w;
    out[i] = item.value * scale + p.offset * p.sign + p.weight[i % 3];
    total[i] = p.big + p.step * item.tag + items[item.link].link;
}
