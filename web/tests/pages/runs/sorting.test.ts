import { expect, test } from "vitest";
import { order, sortRuns } from "../../../src/pages/runs/run-table";
import { nextOrder, type Order, orderText } from "../../../src/ui/sorting";
import { readRoute, route } from "../../../src/data/route";
import { runWith } from "../../run-listings";

const FIRST_ORDER: Order = { column: "updated", isDown: true };

function orderOf(sort: string): Order {
  route.value = { ...readRoute("#runs"), params: new Map([["sort", sort]]) };
  return order.value;
}

const runs = [
  runWith({ id: "a", name: "run-10", updated: 50, metrics: [{ name: "acc", value: 0.5 }] }),
  runWith({ id: "b", name: "run-9", updated: 90, metrics: [{ name: "acc", value: null }] }),
  runWith({ id: "c", name: "Run-2", updated: 70, metrics: [] }),
  runWith({ id: "d", name: "run-1", updated: 60, state: "running", metrics: [{ name: "acc", value: 0.9 }] }),
  runWith({ id: "e", name: "run-3", updated: 10, state: "running" }),
];

function ids(text: string): string {
  return sortRuns(runs, orderOf(text))
    .map(({ id }) => id)
    .join("");
}

test("what has changed last stands first, and running runs keep their places among themselves", () => {
  expect(ids("")).toBe("debca");
});

test("names sort as people count", () => {
  expect(ids("name")).toBe("dceba");
  expect(ids("-name")).toBe("abecd");
});

test("runs without a value stand last, whichever way", () => {
  expect(ids("m:acc")).toBe("adbce");
  expect(ids("-m:acc")).toBe("dabce");
});

test.each(["nothing", "-", "constructor", "-__proto__", "toString"])(
  "%s in the address sorts as nothing was said",
  (text) => {
    expect(orderOf(text)).toEqual(FIRST_ORDER);
  },
);

test("an order comes back from the address", () => {
  for (const one of [
    { column: "name", isDown: false },
    { column: "m:val/acc -x", isDown: true },
  ]) {
    expect(orderOf(orderText(one))).toEqual(one);
  }
});

test("a column sorts by its better end first, and the other way when it is pressed again", () => {
  const down = nextOrder(FIRST_ORDER, "m:acc", false);
  expect(down).toEqual({ column: "m:acc", isDown: true });
  expect(nextOrder(down, "m:acc", false).isDown).toBe(false);
  expect(nextOrder(down, "name", true).isDown).toBe(false);
});
