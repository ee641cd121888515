// European option prices: exp, log, sqrt and division.
float normal_cdf(float x) {
    float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    float series =
        k * (0.319381530f +
             k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.39894228040f * exp(-0.5f * x * x) * series;
    return x > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float *price, global const float *strike,
                          global const float *years, global float *call, global float *put,
                          float rate, float volatility) {
    int i = get_global_id(0);
    float root = sqrt(years[i]);
    float d1 = (log(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
               (volatility * root);
    float d2 = d1 - volatility * root;
    float discounted = strike[i] * exp(-rate * years[i]);
    call[i] = price[i] * normal_cdf(d1) - discounted * normal_cdf(d2);
    put[i] = discounted * normal_cdf(-d2) - price[i] * normal_cdf(-d1);
}
