/** Endpoints to choose from: those that there are, or where there are more than a page, those that hold what is typed. */

import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { PAGE } from "../api/queries";
import type { Endpoint } from "../api/schema";

/** The first endpoints, and whether there are more. */
export interface Known {
  endpoints: readonly Endpoint[];
  more?: boolean;
}

const FIND_MS = 250;

export const likeQuery = (find: string) =>
  queryOptions({
    queryKey: ["endpoints", "like", find],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/endpoints", { params: { query: { q: find, limit: PAGE } }, signal })),
    staleTime: 10_000,
  });

/** The endpoints to offer while `find` is typed. */
export function useFound(find: string, { endpoints, more = false }: Known): readonly Endpoint[] {
  const [settled] = useDebouncedValue(find.trim(), FIND_MS);
  const searched = more && settled !== "";
  const found = useQuery({ ...likeQuery(settled), enabled: searched, placeholderData: keepPreviousData });
  return searched && found.data !== undefined ? found.data.items : endpoints;
}
