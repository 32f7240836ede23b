/** Terms with their values, one under the other. Facts without a value are left out. */
import { type ComponentChildren, Fragment } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatShare, formatValue } from "../../data/format";
import * as store from "../../data/store";
import type { TensorView } from "../../wire";

export type Fact = readonly [term: string, value: ComponentChildren];

export function Facts({ facts }: { facts: readonly (Fact | null | false)[] }) {
  return (
    <dl class="readout facts">
      {facts.map((fact) =>
        fact === null || fact === false ? null : (
          <div key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd title={typeof fact[1] === "string" ? fact[1] : undefined}>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** The head of the inspector: what is selected, in two lines. */
export function Head({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="panel-head subject-head">
      <div class="grow">
        <h1 class="mono" title={title}>
          {title}
        </h1>
        <div class="muted fs-1">{children}</div>
      </div>
    </div>
  );
}

interface Props {
  title: string;
  remark?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of the inspector under a small heading, with a remark at the right. */
export function Section({ title, remark, children }: Props) {
  return (
    <section class="section" aria-label={title}>
      <div class="row">
        <h2>{title}</h2>
        <span class="grow" />
        {remark !== undefined && <span class="muted fs-1 remark">{remark}</span>}
      </div>
      {children}
    </section>
  );
}

export function TwinSection({ title, remark, chart, table }: { title: string; remark: ComponentChildren; chart: ComponentChildren; table: ComponentChildren }) {
  const [isTable, setIsTable] = useState(false);
  const withSwitch = (
    <>
      {remark}{" "}
      <button class="link quiet" aria-pressed={isTable} onClick={() => setIsTable(!isTable)}>
        {isTable ? "show as chart" : "show as table"}
      </button>
    </>
  );
  return (
    <Section title={title} remark={withSwitch}>
      {isTable ? <div class="bins">{table}</div> : chart}
    </Section>
  );
}

const FEW = 8;
const MANY = 500;

/** A few links, and a way to see the rest. */
export function Links({ items }: { items: readonly ComponentChildren[] }) {
  const [isAll, setIsAll] = useState(false);
  const shown = items.slice(0, isAll ? MANY : FEW);
  const hidden = items.length - shown.length;
  return (
    <span class="links">
      {shown.map((item, at) => (
        <span key={at}>{item}</span>
      ))}
      {hidden > 0 &&
        (isAll ? (
          <span class="muted">and {formatCount(hidden)} more</span>
        ) : (
          <button class="link" onClick={() => setIsAll(true)}>
            {formatCount(hidden)} more
          </button>
        ))}
    </span>
  );
}

/** The place of a tensor while it is on its way. */
export function TensorSkeleton() {
  const connection = store.source.value?.connection.value.state;
  const isWaiting = connection === "lost" || connection === "refused" || connection === "connecting";
  return (
    <div class="section late" aria-busy="true" aria-label="Loading the tensor">
      <i class="skeleton" style={{ width: "72px" }} />
      <i class="skeleton block" />
      <i class="skeleton" style={{ width: "96px" }} />
      <i class="skeleton block low" />
      {isWaiting && (
        <p class="muted fs-2">
          Not fetched before the connection was lost; it comes when the server is back.
        </p>
      )}
    </div>
  );
}

interface FiguresProps {
  of: Pick<TensorView, "mean" | "std" | "min" | "max">;
  zeros?: readonly [share: string, count: string];
  numNan: number;
  numInf: number;
  /** A figure of a sample has a sign. */
  withSign?: (name: string, text: string) => string;
}

/** Mean, deviation, extremes, zeros and what is no number, in the order they have everywhere. */
export function Figures({ of, zeros, numNan, numInf, withSign = (_, text) => text }: FiguresProps) {
  return (
    <div class="section figures">
      <dl class="readout cols" aria-label="Figures">
        {(["mean", "std", "min", "max"] as const).map((name) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd data-figure={name}>{of[name] === null ? "none" : withSign(name, formatValue(of[name]))}</dd>
          </Fragment>
        ))}
        {zeros !== undefined && (
          <>
            <dt>zeros</dt>
            <dd data-figure="zeros" title={zeros[1]}>
              {zeros[0]}
            </dd>
          </>
        )}
        <dt>NaN / Inf</dt>
        <dd data-figure="nonfinite" class={numNan + numInf > 0 ? "bad" : ""}>
          {formatCount(numNan)} / {formatCount(numInf)}
        </dd>
      </dl>
    </div>
  );
}

export function TensorFigures({ view }: { view: TensorView }) {
  const zeros = [formatShare(view.num_zeros, view.num_elements), formatCount(view.num_zeros)] as const;
  return <Figures of={view} zeros={zeros} numNan={view.num_nan} numInf={view.num_inf} />;
}
