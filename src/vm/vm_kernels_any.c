/* Kernels of the strip machine for every processor of the family that the library is compiled for. */
#include "vm/vm_kernels_body.h"
