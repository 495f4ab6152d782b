import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { useEffect, useRef } from "react";
import UPlot from "uplot";
import { clock, useZone } from "../format/time";
import { rate } from "../format/units";
import { t } from "../i18n";
import type { Point } from "./series";
import classes from "./Throughput.module.css";

const HEIGHT = 180;

export default function Chart({ points }: { points: readonly Point[] }) {
  const { ref: measured, width } = useElementSize<HTMLDivElement>();
  const box = useRef<HTMLDivElement>(null);
  const both = useMergedRef(measured, box);
  const scheme = useComputedColorScheme();
  const zone = useZone();
  const plot = useRef<UPlot | null>(null);
  const latest = useRef(points);
  useEffect(() => {
    latest.current = points;
    plot.current?.setData(columns(points));
  }, [points]);
  useEffect(() => {
    const holder = box.current;
    if (holder === null || width === 0) return;
    const ink = scheme === "dark" ? "#9aa5b0" : "#545c65";
    const line = scheme === "dark" ? "#4ea5ca" : "#0b6e99";
    const grid = { stroke: scheme === "dark" ? "#2a3138" : "#e3e7eb", width: 1 };
    const made = new UPlot(
      {
        width,
        height: HEIGHT,
        // Room for half of the last label.
        padding: [8, 32, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1000)] } },
        axes: [
          { stroke: ink, grid, ticks: grid, space: 90, incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600], values: (_, at) => at.map((seconds) => clock(seconds * 1000, zone)) },
          { stroke: ink, grid, ticks: grid, size: 92, values: (_, at) => at.map((bps) => rate(bps)) },
        ],
        series: [{}, { stroke: line, width: 2, fill: `${line}22`, points: { show: false } }],
      },
      columns(latest.current),
      holder,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [width, scheme, zone]);
  const last = points.at(-1);
  return <div ref={both} className={classes.chart} role="img" aria-label={t("throughput.chart", { rate: rate(last?.bps ?? 0) })} />;
}

function columns(points: readonly Point[]): UPlot.AlignedData {
  return [points.map(({ atMs }) => atMs / 1000), points.map(({ bps }) => bps)];
}
