# Writes OUT: the files below ROOT that the library carries, as byte arrays named in src/api/embedded.h.
set(text "/* Made by cmake/embed.cmake. */\n#include \"api/embedded.h\"\n")
# One array of the files named after the symbol, one behind the other.
function(embed symbol)
    set(hex "")
    foreach(path IN LISTS ARGN)
        file(READ ${ROOT}/${path} file_hex HEX)
        string(APPEND hex "${file_hex}")
    endforeach()
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes
           "${bytes}")
    set(text "${text}const char ${symbol}[] = { /* ${ARGN} */\n${bytes}0 };\n" PARENT_SCOPE)
endfunction()
embed(tessi_embedded_prelude_c prelude/c.h prelude/c_math.h)
embed(tessi_embedded_prelude_cuda prelude/cuda.h prelude/c.h prelude/c_math.h)
embed(tessi_embedded_prelude_opencl prelude/opencl.h prelude/c.h prelude/c_math.h)
embed(tessi_embedded_filters lib/filters.tess)
file(WRITE ${OUT} "${text}")
