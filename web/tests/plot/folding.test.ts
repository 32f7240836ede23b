import { describe, expect, it } from "vitest";
import { fold, isClosed } from "../../src/plot/Figure";

describe("a group", () => {
  it("is as it is at first, until somebody opens or closes it", () => {
    expect([isClosed("a"), isClosed("a", true)]).toEqual([false, true]);
    fold("a", false);
    expect([isClosed("a"), isClosed("a", true)]).toEqual([false, false]);
    fold("a", true);
    expect([isClosed("a"), isClosed("a", true)]).toEqual([true, true]);
  });
});
