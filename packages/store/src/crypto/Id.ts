/** Generates identifiers. */
import { Effect } from "effect"
import { randomCharacters } from "../schema/Id.ts"
import * as Base62 from "./Base62.ts"

/** Generates a new identifier. */
export const generate = (prefix: string): Effect.Effect<string> =>
  Effect.map(Base62.random(randomCharacters), (characters) => `${prefix}_${characters}`)
