import { ProblemNotice } from "@tollgate/ui/components/ProblemNotice.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import { Ended } from "./layout/Ended.tsx"
import { Layout } from "./layout/Layout.tsx"
import { about, hasEnded, readAbout } from "./session/session.ts"
import { texts } from "./texts/texts.ts"

const Session = () => {
  const { problem, reload } = useQuery("about", readAbout)
  if (about.value !== undefined) return <Layout about={about.value} />
  if (problem === undefined) return <p class="starting">{texts.opening}</p>
  return (
    <main class="ended">
      <h1>{texts.title}</h1>
      <ProblemNotice problem={problem} onRetry={reload} />
    </main>
  )
}

export const App = () => (hasEnded.value ? <Ended /> : <Session />)
