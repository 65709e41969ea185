/* Finding OpenCL's loader. */
#include "rt/library.h"
#include "rt/opencl.h"
#include "tessera.h"

bool tessi_opencl_load(OpenclApi *api, Failure *f)
{
    static const char *const names[] = { "libOpenCL.so.1", NULL };
    static const RtSymbol symbols[] = {
#define F(name, symbol, result, arguments) { symbol, offsetof(OpenclApi, name), false },
#include "rt/opencl_functions.def"
#undef F
    };
    const char *missing;
    if (tessi_library_load(names, symbols, sizeof symbols / sizeof *symbols, api, &missing))
        return true;
    if (missing)
        return tessi_failf(f, TESS_ERROR_DEVICE,
                           "the OpenCL loader here is older than OpenCL 1.2: it has no %s",
                           missing);
    return tessi_failf(f, TESS_ERROR_DEVICE,
                       "there is no OpenCL here (libOpenCL.so.1; Debian's package is "
                       "ocl-icd-libopencl1)");
}
