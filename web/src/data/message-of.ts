/** Why something failed, for a reader. */
export function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

/** What was made, or why it could not be; the other one is null or empty. */
export interface Attempt<Value> {
  readonly value: Value | null;
  readonly problem: string;
}

export function attempt<Value>(make: () => Value): Attempt<Value> {
  try {
    return { value: make(), problem: "" };
  } catch (reason) {
    return { value: null, problem: messageOf(reason) };
  }
}
