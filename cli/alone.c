/* tessera: the tool as one process. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv, NULL);
}
