/* Element types as DLPack names them. */
#include <stdio.h>

#include "api/api.h"

DLDataType tessi_dl_type(ScalarType t)
{
    const TypeInfo *info = tessi_type_info(t);
    uint8_t code = info->cls == 'B'   ? kDLBool
                   : info->cls == 'S' ? kDLInt
                   : info->cls == 'U' ? kDLUInt
                                      : kDLFloat;
    return (DLDataType){ code, (uint8_t)(info->bytes * 8), 1 };
}

bool tessi_scalar_type(DLDataType d, ScalarType *t)
{
    for (int i = 0; i < N_TYPES; i++) {
        DLDataType known = tessi_dl_type((ScalarType)i);
        if (i != TYPE_INDEX && known.code == d.code && known.bits == d.bits && d.lanes == 1) {
            *t = (ScalarType)i;
            return true;
        }
    }
    return false;
}

const char *tessi_dl_type_text(DLDataType d, char buffer[32])
{
    ScalarType t;
    if (tessi_scalar_type(d, &t))
        return tessi_type_info(t)->name;
    snprintf(buffer, 32, "DLPack type %d of %d bits", d.code, d.bits);
    return buffer;
}
