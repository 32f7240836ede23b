import { expect, test } from "vitest";
import { readValue, type Value, writeValue } from "../../../src/pages/control/drafts";
import { fieldWith } from "./answers";

const rate = fieldWith({ name: "rate", low: 0, high: 10, requirement: "must be from 0 to 10" });
const hidden = fieldWith({ name: "hidden", form: "integer", low: 1, requirement: "must be a whole number, 1 or more" });
const clip = fieldWith({ name: "clip", low: 0, is_optional: true, requirement: "must be 0 or more, or empty" });
const shift = fieldWith({ name: "shift" });

test.each<[string, number]>([
  ["0.05", 0.05],
  [" .5 ", 0.5],
  ["1e-4", 1e-4],
  ["1E\u22124", 1e-4],
  ["+3", 3],
  ["5.", 5],
])("%s is a number as people write them", (text, value) => {
  expect(readValue(rate, text)).toEqual({ value });
});

test("a true minus and groups of digits, as the page writes them, can be read again", () => {
  expect(readValue(shift, "\u22120.5")).toEqual({ value: -0.5 });
  expect(readValue(hidden, "12\u202f000")).toEqual({ value: 12_000 });
});

test("a comma is no point, and no group of digits either", () => {
  expect(readValue(rate, "0,05")).toEqual({ problem: "must have a point: 0.05" });
  expect(readValue(rate, "1,000")).toEqual({ problem: "must have a point: 1.000" });
});

test.each(["", "abc", "1e", "1 2 x", "Infinity", "NaN", "0x10", "1e999", "--1"])("%j is no number", (text) => {
  expect(readValue(rate, text)).toEqual({ problem: "must be from 0 to 10" });
  expect(readValue(shift, text)).toEqual({ problem: "must be a number" });
});

test("limits are held, and so is that a number is whole", () => {
  expect(readValue(rate, "10")).toEqual({ value: 10 });
  expect(readValue(rate, "10.01")).toEqual({ problem: "must be from 0 to 10" });
  expect(readValue(hidden, "0")).toEqual({ problem: "must be a whole number, 1 or more" });
  expect(readValue(hidden, "1.5")).toEqual({ problem: "must be a whole number, 1 or more" });
  expect(readValue(hidden, "1e3")).toEqual({ value: 1000 });
  expect(readValue(hidden, "9007199254740993")).toEqual({ problem: "must be a whole number, 1 or more" });
});

test("what may be left out can be empty", () => {
  expect(readValue(clip, "  ")).toEqual({ value: null });
  expect(readValue(clip, "-1")).toEqual({ problem: "must be 0 or more, or empty" });
});

test("texts stay as they are; an empty one is a text where it may not be left out", () => {
  const name = fieldWith({ name: "name", form: "text" });
  expect(readValue(name, " a ")).toEqual({ value: " a " });
  expect(readValue(name, "")).toEqual({ value: "" });
  expect(readValue({ ...name, is_optional: true }, "")).toEqual({ value: null });
});

test("of choices only those that there are", () => {
  const requirement = "must be one of SGD, Adam";
  const choice = fieldWith({ name: "method", form: "choice", choices: ["SGD", "Adam"], requirement });
  expect(readValue(choice, "Adam")).toEqual({ value: "Adam" });
  expect(readValue(choice, "adam")).toEqual({ problem: requirement });
});

test.each<[Value, string]>([
  [0.1, "0.1"],
  [-1.5, "\u22121.5"],
  [1e-7, "1e\u22127"],
  [1e21, "1e21"],
  [null, ""],
  [true, "true"],
  ["a-b", "a-b"],
])("%j is shown as %s", (value, text) => {
  expect(writeValue(value)).toBe(text);
});
