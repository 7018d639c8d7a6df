package provider

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// GrantRoleInputs are the inputs of postgresql:GrantRole.
type GrantRoleInputs struct {
	Role            string `husk:"role,replace" doc:"The role that becomes a member."`
	GrantRole       string `husk:"grantRole,replace" doc:"The role that it becomes a member of."`
	WithAdminOption bool   `husk:"withAdminOption,default=false" doc:"Whether the role may make others members."`
}

// GrantRoleState is the state of postgresql:GrantRole.
type GrantRoleState struct {
	GrantRoleInputs
}

// GrantRole implements postgresql:GrantRole.
type GrantRole struct{ server *server }

// grantRoleID is the form of the ID of a membership.
const grantRoleID = "role@grantRole"

// give makes the role a member. One that it already is stays, and only its option changes.
func (o GrantRole) give(ctx context.Context, in GrantRoleInputs) error {
	if in.WithAdminOption {
		return o.server.run(ctx, "", "GRANT "+name(in.GrantRole)+" TO "+name(in.Role)+" WITH ADMIN OPTION")
	}
	return o.server.run(ctx, "", "GRANT "+name(in.GrantRole)+" TO "+name(in.Role),
		"REVOKE ADMIN OPTION FOR "+name(in.GrantRole)+" FROM "+name(in.Role))
}

// Create makes the role a member.
func (o GrantRole) Create(ctx context.Context, r guest.CreateRequest[GrantRoleInputs]) (guest.CreateResponse[GrantRoleState], error) {
	if err := o.give(ctx, r.Inputs); err != nil {
		return guest.CreateResponse[GrantRoleState]{}, err
	}
	return guest.CreateResponse[GrantRoleState]{ID: idOf(r.Inputs.Role, r.Inputs.GrantRole), State: GrantRoleState{r.Inputs}}, nil
}

// Read finds whether the role is a member, and may make others members.
func (o GrantRole) Read(ctx context.Context, r guest.ReadRequest[GrantRoleInputs, GrantRoleState]) (guest.ReadResponse[GrantRoleInputs, GrantRoleState], error) {
	var response guest.ReadResponse[GrantRoleInputs, GrantRoleState]
	var in GrantRoleInputs
	if r.State != nil {
		in = r.State.GrantRoleInputs
	} else {
		parts, err := partsOfID(r.ID, grantRoleID, 2)
		if err != nil {
			return response, err
		}
		in = GrantRoleInputs{Role: parts[0], GrantRole: parts[1]}
	}
	// Since version 16 each role that makes another a member does so for itself.
	err := o.server.find(ctx, "", "the role "+in.Role+" is not a member of "+in.GrantRole, `
		SELECT bool_or(m.admin_option) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member JOIN pg_roles g ON g.oid = m.roleid
		WHERE r.rolname = $1 AND g.rolname = $2 GROUP BY m.member`, []any{in.Role, in.GrantRole}, &in.WithAdminOption)
	response.Inputs, response.State = in, GrantRoleState{in}
	return response, err
}

// Update lets the role make others members, or no longer.
func (o GrantRole) Update(ctx context.Context, r guest.UpdateRequest[GrantRoleInputs, GrantRoleState]) (guest.UpdateResponse[GrantRoleState], error) {
	return guest.UpdateResponse[GrantRoleState]{State: GrantRoleState{r.Inputs}}, o.give(ctx, r.Inputs)
}

// Delete ends the membership.
func (o GrantRole) Delete(ctx context.Context, r guest.DeleteRequest[GrantRoleState]) error {
	err := o.server.run(ctx, "", "REVOKE "+name(r.State.GrantRole)+" FROM "+name(r.State.Role))
	if isCode(err, undefinedObject) {
		return guest.NotFound("one of the roles is gone")
	}
	return err
}
