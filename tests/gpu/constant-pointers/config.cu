#include "config.h"
__constant__ Stage stages[3] = {{add, arguments}, {multiply, &arguments[1]}, {subtract, arguments + 2}};
