import { readFileSync } from "node:fs";
import { join } from "node:path";
import { render } from "preact";
import { expect, test } from "vitest";
import { FormulaView, readFormula } from "../../../src/pages/learn/FormulaView";

function said(latex: string): string {
  return readFormula(latex).said;
}

test.each([
  [String.raw`\grad{W1} = \name{x}^{\top} \grad{a}`, "dL by dW1 equals x transposed times dL by da"],
  [String.raw`\bar c \cdot b\, a^{b-1}`, "c bar times b times a to the power of b minus 1"],
  [String.raw`-\frac{\bar c \cdot c}{b}`, "minus c bar times c over b"],
  [String.raw`\bar c \cdot [a > 0]`, "c bar times 1 where a is greater than 0"],
  [String.raw`\bar c \cdot \cos a`, "c bar times the cosine of a"],
  [String.raw`\operatorname{reshape}(\bar c)`, "reshape of c bar"],
  [String.raw`\bar c - e^{c} \sum_j \bar c_j`, "c bar minus e to the power of c times the sum over j of c bar sub j"],
  [String.raw`c \cdot \left( \bar c - \sum_j \bar c_j c_j \right)`, "c times open c bar minus the sum over j of c bar sub j times c sub j close"],
  [String.raw`\frac{\bar c}{\sqrt{1 - a^2}}`, "c bar over the root of 1 minus a squared"],
  [String.raw`\grad{x} += \frac{\grad{y}}{n} \cdot \mathbf{1}`, "dL by dx gets dL by dy over n times ones"],
])("%s is read aloud", (latex, words) => {
  expect(said(latex)).toBe(words);
});

test("every formula of the rules is understood: no command is left over", () => {
  const rules = readFileSync(join(import.meta.dirname, "../../../../src/torcheer/autograd/rules.py"), "utf8");
  const formulas = [...rules.matchAll(/r"([^"]*)"/g)].map(([, text]) => text!).filter((text) => !text.includes("`"));
  expect(formulas.length).toBeGreaterThan(40);
  const functions = formulas.flatMap((text) => [...drawn(text).querySelectorAll("mi[mathvariant]:not(.bold)")].map((one) => one.textContent));
  expect([...new Set(functions)].sort()).toEqual(["cos", "einsum", "flip", "fold", "ln", "reshape", "sign", "sin", "tanh", "unfold"]);
});

function drawn(latex: string): HTMLElement {
  const box = document.createElement("div");
  render(<FormulaView latex={latex} />, box);
  return box;
}

test("names of data are text, whatever signs are in them, and braces do not end them early", () => {
  for (const name of ["<b>_1", "a{b}c"]) {
    expect(said(`\\name{${name}}`)).toBe(name);
    expect(drawn(`\\name{${name}}`).querySelector("mi")!.textContent).toBe(name);
  }
});

test("what is cut off or wrong is still shown", () => {
  for (const latex of ["", "^", "_{", String.raw`\frac{a`, String.raw`\left(`, "(a", "}", String.raw`\unknown x`, String.raw`\name`]) {
    expect(() => said(latex)).not.toThrow();
  }
  expect(said(String.raw`\unknown x`)).toBe("unknown of x");
});

test("it is set as MathML, named as it is read aloud", () => {
  const box = drawn(String.raw`\grad{W1} = \name{x}^{\top} \grad{a}`);
  const math = box.querySelector("[role=math]")!;
  expect(math.getAttribute("aria-label")).toBe("dL by dW1 equals x transposed times dL by da");
  expect(box.querySelector("math")!.namespaceURI).toBe("http://www.w3.org/1998/Math/MathML");
  expect(box.querySelectorAll("mfrac").length).toBe(2);
  expect(box.querySelector("msub")!.textContent).toBe("W1");
});
