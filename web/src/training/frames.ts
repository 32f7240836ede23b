/** Work that may wait for the next frame of the screen: each piece once, and never so much that a frame is late. */

type Task = () => void;

/** A frame has 16 ms. What is drawn costs the browser as much again, after the task is done. */
const BUDGET_MS = 6;
const MAX_TASKS = 4;

const waiting = new Set<Task>();
const urgent = new Set<Task>();
let isAsked = false;

/** Run a task in one of the next frames, once however often it is asked for. */
export function inNextFrame(task: Task): void {
  waiting.add(task);
  ask();
}

/** The same for what follows the pointer: before all others, and in the very next frame. */
export function atNextFrame(task: Task): void {
  urgent.add(task);
  ask();
}

export function forgetFrame(task: Task): void {
  waiting.delete(task);
  urgent.delete(task);
}

function ask(): void {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(run);
}

function run(): void {
  isAsked = false;
  const end = performance.now() + BUDGET_MS;
  for (const task of urgent) {
    urgent.delete(task);
    task();
  }
  let numDone = 0;
  for (const task of waiting) {
    waiting.delete(task);
    task();
    numDone += 1;
    if (numDone >= MAX_TASKS || performance.now() > end) break;
  }
  if (waiting.size + urgent.size > 0) ask();
}
