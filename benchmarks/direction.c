/* What a processor can do: K=6 rows, one thread, each number read once for the 21 inner products and once for the sum.
   Compiled by direction.py, if there is a compiler, to have something to be measured against; not part of the package. */

#include <stddef.h>

enum { K = 6, PAIRS = 21, BLOCK = 4096 };

void sums(const float *rows, size_t n, float *out) {
    for (int k = 0; k < K; k++) {
        float total = 0;
        for (size_t i = 0; i < n; i++) total += rows[k * n + i];
        out[k] = total;
    }
}

void gram(const float *rows, size_t n, double *out) {
    const float *a = rows, *b = a + n, *c = b + n, *d = c + n, *e = d + n, *f = e + n;
    for (int p = 0; p < PAIRS; p++) out[p] = 0;
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t end = start + BLOCK < n ? start + BLOCK : n;
        float aa = 0, ab = 0, ac = 0, ad = 0, ae = 0, af = 0, bb = 0, bc = 0, bd = 0, be = 0, bf = 0;
        float cc = 0, cd = 0, ce = 0, cf = 0, dd = 0, de = 0, df = 0, ee = 0, ef = 0, ff = 0;
        for (size_t i = start; i < end; i++) {
            float A = a[i], B = b[i], C = c[i], D = d[i], E = e[i], F = f[i];
            aa += A * A; ab += A * B; ac += A * C; ad += A * D; ae += A * E; af += A * F;
            bb += B * B; bc += B * C; bd += B * D; be += B * E; bf += B * F;
            cc += C * C; cd += C * D; ce += C * E; cf += C * F;
            dd += D * D; de += D * E; df += D * F;
            ee += E * E; ef += E * F; ff += F * F;
        }
        float block[PAIRS] = {aa, ab, ac, ad, ae, af, bb, bc, bd, be, bf, cc, cd, ce, cf, dd, de, df, ee, ef, ff};
        for (int p = 0; p < PAIRS; p++) out[p] += block[p];
    }
}

void combine(const float *rows, size_t n, const float *w, float *out) {
    const float *a = rows, *b = a + n, *c = b + n, *d = c + n, *e = d + n, *f = e + n;
    for (size_t i = 0; i < n; i++)
        out[i] = w[0] * a[i] + w[1] * b[i] + w[2] * c[i] + w[3] * d[i] + w[4] * e[i] + w[5] * f[i];
}
