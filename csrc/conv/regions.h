/* Output pixels in the order in which forward.c computes them. For convolutions with dilation the
 * outputs are divided into regions, boxes of pixels whose windows have the same taps inside the
 * image. Only these taps are multiplied, and images are read in place. Other convolutions have one
 * region. The division depends only on the sizes of an image. */
#ifndef DF_CONV_REGIONS_H
#define DF_CONV_REGIONS_H

#include "conv/image.h"

#define DF_CONV_MOST_INTERVALS 32 /* along a dimension */
#define DF_CONV_MOST_TAPS 64      /* of convolutions that skip taps */

/* Regions are products of intervals along the dimensions. */
typedef struct {
    int64_t n[3]; /* number of intervals */
    int64_t starts[3][DF_CONV_MOST_INTERVALS + 1];
} df_conv_regions;

/* Rows of a tile in one region. */
typedef struct {
    int64_t rows, first[3]; /* number of rows; the first output of the region */
    int64_t shift; /* distance from the start of a window to its first tap inside the image */
} df_conv_piece;

/* Divides the outputs of a convolution. Returns false if all taps are multiplied. */
bool DF_SYM(df_conv_cut_regions)(const df_conv *c, df_conv_regions *r);

/* True if a tap of the windows of a region is inside the image. */
bool DF_SYM(df_conv_is_inside)(const df_conv *c, const int64_t first[3], int64_t tap);

/* Divides rows [row, row + rows) of `images` images, numbered through the regions, into pieces; one
 * piece if r is NULL. Sets the offsets of their windows, shifted, and of their outputs. Returns the
 * number of pieces. */
int64_t DF_SYM(df_conv_pieces)(const df_conv *c, const df_conv_regions *r, const df_conv_view *v,
                               int64_t images, int64_t row, int64_t rows, df_conv_piece *pieces,
                               int64_t *windows, int64_t *outputs);

#endif
