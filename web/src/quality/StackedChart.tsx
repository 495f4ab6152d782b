import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import UPlot from "uplot";
import { clock, useZone } from "../format/time";
import { rate } from "../format/units";
import { hueOf } from "./hues";
import { stacked, type Taken } from "./series";
import classes from "./quality.module.css";

const HEIGHT = 160;

interface Props {
  series: readonly Taken[];
  /** The link and its direction. */
  of: string;
  order: readonly string[];
  /** What the link carries; none: no cap. */
  capacity: number | null;
  label: string;
}

/** What classes took of a link, on each other, over the time that the page is open. */
export default function StackedChart({ series, of, order, capacity, label }: Props) {
  const { ref: measured, width } = useElementSize<HTMLDivElement>();
  const box = useRef<HTMLDivElement>(null);
  const both = useMergedRef(measured, box);
  const scheme = useComputedColorScheme();
  const zone = useZone();
  const plot = useRef<UPlot | null>(null);
  const { names, columns } = stacked(series, of, order);
  const latest = useRef(columns);
  useEffect(() => {
    latest.current = columns;
    plot.current?.setData([columns[0] ?? [], ...columns.slice(1)]);
  });
  // Another set of classes is another chart.
  const layers = names.join(" ");
  const ranks = order.join(" ");
  useEffect(() => {
    const holder = box.current;
    if (holder === null || width === 0) return;
    const ink = scheme === "dark" ? "#9aa5b0" : "#545c65";
    const grid = { stroke: scheme === "dark" ? "#2a3138" : "#e3e7eb", width: 1 };
    const shown = layers === "" ? [] : layers.split(" ");
    const made = new UPlot(
      {
        width,
        height: HEIGHT,
        // Room for half of the last label.
        padding: [8, 32, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(capacity ?? most * 1.1, 1000)] } },
        axes: [
          { stroke: ink, grid, ticks: grid, space: 90, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600], values: (_, at) => at.map((seconds) => clock(seconds * 1000, zone)) },
          { stroke: ink, grid, ticks: grid, size: 92, values: (_, at) => at.map((bps) => rate(bps)) },
        ],
        series: [
          {},
          ...shown.map((name) => {
            const hue = hueOf(ranks.split(" "), name);
            return { stroke: hue, width: 1, fill: hue, points: { show: false } };
          }),
        ],
      },
      [latest.current[0] ?? [], ...latest.current.slice(1)],
      holder,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [width, scheme, zone, layers, ranks, capacity]);
  return <div ref={both} className={classes.chart} role="img" aria-label={label} />;
}
