/* Formats the error value of a failing C function. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

df_status df_fail(df_error *err, df_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    err->status = status;
    return status;
}
