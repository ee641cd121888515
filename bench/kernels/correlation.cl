// Correlation matrix of the columns of a matrix with n rows and m columns.
kernel void moments(global const float *data, global float *mean, global float *deviation, int n,
                    int m) {
    int j = get_global_id(0);
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < n; i++)
        sum += data[i * m + j];
    sum /= n;
    for (int i = 0; i < n; i++) {
        float d = data[i * m + j] - sum;
        squares += d * d;
    }
    float s = sqrt(squares / n);
    mean[j] = sum;
    deviation[j] = s <= 0.005f ? 1.0f : s;
}

kernel void normalise(global const float *data, global const float *mean,
                      global const float *deviation, global float *out, int n, int m) {
    int j = get_global_id(0), i = get_global_id(1);
    out[i * m + j] = (data[i * m + j] - mean[j]) / (sqrt((float)n) * deviation[j]);
}

// One row of the upper triangle per work-item, mirrored into the lower one.
kernel void correlate(global const float *data, global float *matrix, int n, int m) {
    int a = get_global_id(0);
    matrix[a * m + a] = 1.0f;
    for (int b = a + 1; b < m; b++) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += data[i * m + a] * data[i * m + b];
        matrix[a * m + b] = sum;
        matrix[b * m + a] = sum;
    }
}
