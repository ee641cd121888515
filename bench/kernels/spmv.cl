// Compressed rows, a row a work-item: rows differ in length, and columns are anywhere.
kernel void spmv(global const int *starts, global const int *columns, global const float *values,
                 global const float *x, global float *y) {
    int row = get_global_id(0);
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}
