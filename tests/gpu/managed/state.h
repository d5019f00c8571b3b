#pragma once
extern __managed__ int counter;
extern __managed__ int history[8];
extern __managed__ int* cursor;
void double_history();
int host_sum();
