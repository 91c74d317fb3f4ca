/* The smallest body in C: a drone that sees nothing but a dot in the middle, and says on standard error what it is told.
 *   cc -O2 -o sensor sensor.c && equimarl fleet agent --agent 0 --sensor './sensor 441'
 */
#include "equimarl_sensor.h"
#include <stdlib.h>

int main(int argc, char **argv) {
    int numbers = argc > 1 ? atoi(argv[1]) : 441;
    struct equimarl_action told;
    do {
        equimarl_begin(-1);
        for (int i = 0; i < numbers; i++) equimarl_number(i == numbers / 2 ? 1.0 : 0.0);
        if (!equimarl_end()) return 0;
        if (!equimarl_action(&told)) return 0; /* the agent has ended */
        fprintf(stderr, "step %llu: action %d\n", told.step, told.action);
    } while (1);
}
