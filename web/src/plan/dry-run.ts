import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import type { Loss } from "../api/schema";

const PAGE = 200;

/** What a plan replaces, or what it deletes, name by name. It does not change. */
export const lossesQuery = (plan: string, how: Loss["how"]) =>
  infiniteQueryOptions({
    queryKey: ["losses", plan, how],
    queryFn: ({ signal, pageParam }) =>
      answer(
        api.GET("/api/v1/plans/{plan}/losses", {
          params: { path: { plan }, query: { how, after: pageParam || undefined, limit: PAGE } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next ?? undefined,
    staleTime: Infinity,
  });
