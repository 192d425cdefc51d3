/* The checksum CRC-32C (Castagnoli), which records of TFRecord files have. Called by _core. */
#ifndef DF_CRC32C_H
#define DF_CRC32C_H

#include <stdint.h>

uint32_t df_crc32c(const unsigned char *data, int64_t bytes);

#endif
