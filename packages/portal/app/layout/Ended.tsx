import { texts } from "../texts/texts.ts"
import { Brand } from "./Brand.tsx"
import { ReturnLink } from "./ReturnLink.tsx"

/** Stands for the page when the session has expired or was ended. */
export const Ended = () => (
  <main class="ended">
    <Brand />
    <h1>{texts.endedTitle}</h1>
    <p>{texts.ended}</p>
    <ReturnLink isButton>{texts.endedBack}</ReturnLink>
  </main>
)
