// access_token_put: keep a token that was made, by the hash of its secret alone.
//
// kind:    write
// params:  token_id: str, hash: str, label: str, projects: [str], role: str, issuer: str, subject: str,
//          type: str, created_at: str, expires_at: str or null, rate: int or null
// returns: id: str
// bounds:  one node
CREATE (t:AccessToken {
  token_id: $token_id, hash: $hash, label: $label, projects: $projects, role: $role, issuer: $issuer,
  subject: $subject, type: $type, created_at: datetime($created_at), expires_at: datetime($expires_at),
  rate: $rate
})
RETURN t.token_id AS id
