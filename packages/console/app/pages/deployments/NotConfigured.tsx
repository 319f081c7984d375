import { EmptyState } from "../../components/EmptyState.tsx"

export const NotConfigured = () => (
  <EmptyState title="This server has no deployments">
    <p>
      Deployments are off unless they are configured. Pass <code>deployments</code> and <code>publicUrl</code> to{" "}
      <code>createTollgate</code>, for example <code>deployments: sites(&#123; folder: "data/sites" &#125;)</code> of{" "}
      <code>@tollgate/sites</code>.
    </p>
  </EmptyState>
)
