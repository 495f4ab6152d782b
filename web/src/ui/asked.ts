import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useState } from "react";
import { tell } from "./toasts";

interface Deed<T, R> {
  act: (one: T) => Promise<R>;
  told: (made: R) => string;
  /** What is read anew afterwards. */
  changes: readonly QueryKey[];
}

/** One of a list about whom it is asked before something is done: which one, and what the question's dialog needs. */
export function useAsked<T, R>({ act, told, changes }: Deed<T, R>) {
  const client = useQueryClient();
  const [one, setOne] = useState<T | null>(null);
  const deed = useMutation({
    mutationFn: act,
    onSuccess: async (made) => {
      tell(told(made));
      setOne(null);
      for (const queryKey of changes) await client.invalidateQueries({ queryKey });
    },
  });
  return {
    one,
    ask: (about: T) => {
      deed.reset();
      setOne(about);
    },
    dialog: {
      pending: deed.isPending,
      error: deed.error,
      close: () => setOne(null),
      go: () => {
        if (one !== null) deed.mutate(one);
      },
    },
  };
}
