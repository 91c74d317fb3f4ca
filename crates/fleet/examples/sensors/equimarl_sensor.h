/* An agent's sensors and actuators in C: lines of numbers on standard output and input.
 *
 *   equimarl_begin(step)              a new observation; step < 0: of the step in which it comes
 *   equimarl_number(x)                each pixel or feature, in order
 *   equimarl_neighbour(agent, e, n)   each agent that is near, with the vector from it to this one
 *   equimarl_end()                    sends it
 *   equimarl_action(&action)          waits for the next decision: 1, or 0 when the agent has ended
 *
 * `fleet agent --agent 0 --sensor './sensor'` starts the program. Write nothing else to standard output.
 */
#ifndef EQUIMARL_SENSOR_H
#define EQUIMARL_SENSOR_H

#include <stdio.h>

struct equimarl_action {
    unsigned long long step;
    int action; /* -1: nothing was decided, hold still */
    int missed; /* messages of neighbours that did not come */
};

static inline void equimarl_begin(long long step) {
    if (step >= 0) printf("@%lld ", step);
}

static inline void equimarl_number(double x) { printf("%.9g ", x); }

static inline void equimarl_neighbour(int agent, const double *edge, int numbers) {
    printf("; %d", agent);
    for (int i = 0; i < numbers; i++) printf(" %.9g", edge[i]);
    printf(" ");
}

static inline int equimarl_end(void) {
    putchar('\n');
    return fflush(stdout) == 0;
}

static inline int equimarl_action(struct equimarl_action *a) {
    char line[128];
    if (!fgets(line, sizeof line, stdin)) return 0;
    return sscanf(line, "%llu %d %d", &a->step, &a->action, &a->missed) == 3;
}

#endif
