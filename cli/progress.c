/* SPDX-License-Identifier: MIT
 *
 * The progress bar: one line on stderr, rewritten in place.
 *
 *      12/100 [====>                          ]  12%  35.1k evaluations/s  1:23 left
 *
 * Shown only on a terminal. If the line is too wide, the bar is left out first, then the rate. The
 * remaining time is estimated from the fraction done: finished inputs plus the fraction of the
 * current walk.
 */
#include "base/clock.h"
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_WIDTH = 200, BAR_MAX = 40, BAR_MIN = 10 };
static const double REDRAW = 0.1; /* seconds */

static size_t terminal_width(void) {
    struct winsize w;
    size_t width = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
    return width < MAX_WIDTH ? width : MAX_WIDTH;
}

void cli_progress_init(cli_progress *bar, int quiet) {
    const char *term = getenv("TERM");
    int can_erase = term && *term && strcmp(term, "dumb") != 0;
    *bar = (cli_progress){.visible = !quiet && can_erase && isatty(STDERR_FILENO)};
}

/* 950, 12.3k, 4.56M: three digits are enough for a rate. */
static void rate_text(double rate, char *text, size_t size) {
    const char *units[] = {"", "k", "M", "G"};
    size_t u = 0;
    for (; rate >= 999.5 && u < 3; u++)
        rate /= 1000;
    snprintf(text, size, "%.*f%s", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, rate, units[u]);
}

/* 0:05, 12:34, 3:25:00 */
static void time_text(double seconds, char *text, size_t size) {
    long s = seconds < 3.6e6 ? (long)(seconds + 0.5) : 3600000;
    if (s < 3600)
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

static void draw_bar(char *text, size_t width, double fraction) {
    size_t inside = width - 2, full = (size_t)((double)inside * fraction);
    text[0] = '[';
    for (size_t i = 0; i < inside; i++)
        text[1 + i] = i < full ? '=' : i == full ? '>' : ' ';
    text[width - 1] = ']';
    text[width] = '\0';
}

void cli_progress_line(const sis_progress *p, double fraction, double seconds, char *text,
                       size_t width) {
    char counts[64], rate[80] = "", left[64] = "", bar[BAR_MAX + 3] = "", number[32];
    snprintf(counts, sizeof counts, "%zu/%zu ", p->inputs_done, p->inputs);
    if (seconds > 0) {
        rate_text((double)(p->evaluations ? p->evaluations : p->inputs_done) / seconds, number,
                  sizeof number);
        snprintf(rate, sizeof rate, "  %s %s/s", number, p->evaluations ? "evaluations" : "inputs");
    }
    if (fraction > 0) {
        time_text(seconds * (1 - fraction) / fraction, number, sizeof number);
        snprintf(left, sizeof left, "  %s left", number);
    }
    size_t used = strlen(counts) + strlen("100%") + strlen(left);
    if (used + strlen(rate) > width)
        rate[0] = '\0';
    used += strlen(rate);
    if (width > used + BAR_MIN) {
        size_t room = width - used - 1;
        draw_bar(bar, room < BAR_MAX ? room : BAR_MAX, fraction);
        strcat(bar, " ");
    }
    int percent = (int)(100 * fraction + 1e-9); /* 100 only when finished */
    percent = percent > 99 && p->inputs_done < p->inputs ? 99 : percent;
    snprintf(text, width + 1, "%s%s%3d%%%s%s", counts, bar, percent, rate, left);
}

int cli_progress_show(void *ctx, const sis_progress *p) {
    cli_progress *bar = ctx;
    char text[MAX_WIDTH + 1];
    double t = sis__seconds();
    if (!bar->visible || p->inputs == 0)
        return 0;
    if (bar->started == 0)
        bar->started = bar->last = t;
    if (t - bar->last < REDRAW)
        return 0;
    double fraction = ((double)p->inputs_done + p->walk) / (double)p->inputs;
    if (fraction > 1)
        fraction = 1;
    if (fraction > bar->fraction)
        bar->fraction = fraction;
    cli_progress_line(p, bar->fraction, t - bar->started, text, terminal_width() - 1);
    fprintf(stderr, "\r%s\033[K", text);
    fflush(stderr);
    bar->drawn = 1;
    bar->last = t;
    return 0;
}

void cli_progress_erase(cli_progress *bar) {
    if (bar->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    bar->drawn = 0;
}

void cli_progress_end(cli_progress *bar) {
    cli_progress_erase(bar);
    bar->visible = 0;
}
