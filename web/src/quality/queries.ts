/** What the console reads of quality of service, by key. */

import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { everyQos } from "../api/everything";

const MOVING_MS = 2500;

/** What is in force, and what transfers get of links now. */
export const qosQuery = queryOptions({
  queryKey: ["qos"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/qos", { signal })),
  // What is taken of links is no change that is told.
  refetchInterval: MOVING_MS,
});
/** What a page has seen of that. */
export const qosSeriesKey = ["qos-series"] as const;

export const qosVersionsQuery = queryOptions({
  queryKey: ["qos-versions"],
  queryFn: ({ signal }) => everyQos(signal),
});

/** What a probe has measured so far; asked again while it runs. */
export const probedQuery = (transfer: string, ended: boolean) =>
  queryOptions({
    queryKey: ["probed", transfer, ended],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/transfers/{transfer}/probe", { params: { path: { transfer } }, signal })),
    refetchInterval: ended ? false : 2000,
  });

/** What both nodes measured of its connections and stages; asked again while it runs. */
export const measuredQuery = (transfer: string, ended: boolean) =>
  queryOptions({
    queryKey: ["measured", transfer, ended],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/transfers/{transfer}/measured", { params: { path: { transfer } }, signal })),
    refetchInterval: ended ? false : 2000,
  });
