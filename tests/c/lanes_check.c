/* Every function of csrc/simd/lanes.h against scalar C, for every dtype, at the SIMD level of the
 * build. Partial loads and stores are tested next to an unreadable page. */
#include "simd/lanes.h"

#include "check.h"

#include <sys/mman.h>

static char *page_end; /* start of the unreadable page */

static bool make_pages(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + size, size, PROT_NONE) != 0) return false;
    page_end = pages + size;
    return true;
}

#define DTYPE f32
#include "lanes_check_any.h"
#include "lanes_check_float.h"
#undef DTYPE
#define DTYPE f64
#include "lanes_check_any.h"
#include "lanes_check_float.h"
#undef DTYPE
#define DTYPE i8
#include "lanes_check_any.h"
#undef DTYPE
#define DTYPE i16
#include "lanes_check_any.h"
#undef DTYPE
#define DTYPE i32
#include "lanes_check_any.h"
#undef DTYPE
#define DTYPE i64
#include "lanes_check_any.h"
#undef DTYPE
#define DTYPE u8
#include "lanes_check_any.h"
#undef DTYPE
#define DTYPE u16
#include "lanes_check_any.h"
#undef DTYPE
#define DTYPE u32
#include "lanes_check_any.h"
#undef DTYPE
#define DTYPE u64
#include "lanes_check_any.h"
#undef DTYPE

int main(void)
{
    CHECK(make_pages());
    check_any_f32(), check_any_f64(), check_any_i8(), check_any_i16(), check_any_i32();
    check_any_i64(), check_any_u8(), check_any_u16(), check_any_u32(), check_any_u64();
    check_float_f32(), check_float_f64();
    return 0;
}
