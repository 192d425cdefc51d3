/* CRC-32C of a buffer, four bytes at a time. Eight small tables, one for each half byte, take the
 * place of the usual tables of 1 kB each: the lookups of a word do not depend on each other. */
#include "file/crc32c.h"

#include <string.h>

/* Row k, column n: the remainder of the word n << 4k after 32 steps with the reflected polynomial
 * 0x82f63b78. */
static const uint32_t table[8][16] = {
    {0x00000000u, 0xdd45aab8u, 0xbf672381u, 0x62228939u, 0x7b2231f3u, 0xa6679b4bu, 0xc4451272u,
     0x1900b8cau, 0xf64463e6u, 0x2b01c95eu, 0x49234067u, 0x9466eadfu, 0x8d665215u, 0x5023f8adu,
     0x32017194u, 0xef44db2cu},
    {0x00000000u, 0xe964b13du, 0xd725148bu, 0x3e41a5b6u, 0xaba65fe7u, 0x42c2eedau, 0x7c834b6cu,
     0x95e7fa51u, 0x52a0c93fu, 0xbbc47802u, 0x8585ddb4u, 0x6ce16c89u, 0xf90696d8u, 0x106227e5u,
     0x2e238253u, 0xc747336eu},
    {0x00000000u, 0xa541927eu, 0x4f6f520du, 0xea2ec073u, 0x9edea41au, 0x3b9f3664u, 0xd1b1f617u,
     0x74f06469u, 0x38513ec5u, 0x9d10acbbu, 0x773e6cc8u, 0xd27ffeb6u, 0xa68f9adfu, 0x03ce08a1u,
     0xe9e0c8d2u, 0x4ca15aacu},
    {0x00000000u, 0x70a27d8au, 0xe144fb14u, 0x91e6869eu, 0xc76580d9u, 0xb7c7fd53u, 0x26217bcdu,
     0x56830647u, 0x8b277743u, 0xfb850ac9u, 0x6a638c57u, 0x1ac1f1ddu, 0x4c42f79au, 0x3ce08a10u,
     0xad060c8eu, 0xdda47104u},
    {0x00000000u, 0x13a29877u, 0x274530eeu, 0x34e7a899u, 0x4e8a61dcu, 0x5d28f9abu, 0x69cf5132u,
     0x7a6dc945u, 0x9d14c3b8u, 0x8eb65bcfu, 0xba51f356u, 0xa9f36b21u, 0xd39ea264u, 0xc03c3a13u,
     0xf4db928au, 0xe7790afdu},
    {0x00000000u, 0x3fc5f181u, 0x7f8be302u, 0x404e1283u, 0xff17c604u, 0xc0d23785u, 0x809c2506u,
     0xbf59d487u, 0xfbc3faf9u, 0xc4060b78u, 0x844819fbu, 0xbb8de87au, 0x04d43cfdu, 0x3b11cd7cu,
     0x7b5fdfffu, 0x449a2e7eu},
    {0x00000000u, 0xf26b8303u, 0xe13b70f7u, 0x1350f3f4u, 0xc79a971fu, 0x35f1141cu, 0x26a1e7e8u,
     0xd4ca64ebu, 0x8ad958cfu, 0x78b2dbccu, 0x6be22838u, 0x9989ab3bu, 0x4d43cfd0u, 0xbf284cd3u,
     0xac78bf27u, 0x5e133c24u},
    {0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u, 0x417b1dbcu, 0x5125dad3u, 0x61c69362u,
     0x7198540du, 0x82f63b78u, 0x92a8fc17u, 0xa24bb5a6u, 0xb21572c9u, 0xc38d26c4u, 0xd3d3e1abu,
     0xe330a81au, 0xf36e6f75u},
};

uint32_t df_crc32c(const unsigned char *data, int64_t bytes)
{
    uint32_t crc = 0xffffffffu;
    for (; bytes >= 4; bytes -= 4, data += 4) {
        uint32_t word;
        memcpy(&word, data, sizeof word);
        crc ^= word;
        crc = table[0][crc & 15] ^ table[1][crc >> 4 & 15] ^ table[2][crc >> 8 & 15] ^
              table[3][crc >> 12 & 15] ^ table[4][crc >> 16 & 15] ^ table[5][crc >> 20 & 15] ^
              table[6][crc >> 24 & 15] ^ table[7][crc >> 28];
    }
    for (; bytes > 0; bytes--, data++) { /* the last two rows move one byte out of the word */
        crc ^= *data;
        crc = crc >> 8 ^ table[6][crc & 15] ^ table[7][crc >> 4 & 15];
    }
    return ~crc;
}
